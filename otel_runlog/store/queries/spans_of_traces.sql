SELECT * FROM stored_spans WHERE trace_id IN (SELECT unnest($trace_ids))
UNION ALL
SELECT * FROM open_spans WHERE trace_id IN (SELECT unnest($trace_ids));
