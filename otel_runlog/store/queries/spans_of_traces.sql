-- Only row groups of the time in which spans of the traces started are read.
SELECT * FROM stored_spans
WHERE trace_id IN (SELECT unnest($trace_ids)) AND (started_ns BETWEEN $first_ns AND $last_ns OR started_ns IS NULL)
UNION ALL
SELECT * FROM open_spans WHERE trace_id IN (SELECT unnest($trace_ids));
