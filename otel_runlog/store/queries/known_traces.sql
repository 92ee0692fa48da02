SELECT trace_id FROM stored_traces WHERE trace_id IN (SELECT unnest($trace_ids))
UNION
SELECT trace_id FROM open_spans WHERE trace_id IN (SELECT unnest($trace_ids));
