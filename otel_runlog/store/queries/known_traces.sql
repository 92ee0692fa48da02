-- With $since_ns only the row groups of that time are read: a fifth of the time at two million spans, and no growth.
SELECT trace_id FROM stored_spans
WHERE trace_id IN (SELECT unnest($trace_ids))
    AND ($since_ns IS NULL OR started_ns >= $since_ns OR started_ns IS NULL)
UNION
SELECT trace_id FROM open_spans WHERE trace_id IN (SELECT unnest($trace_ids));
