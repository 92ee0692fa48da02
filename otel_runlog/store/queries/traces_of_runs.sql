-- The traces that the steps of these runs come from.
SELECT trace_id FROM closed_steps WHERE run_id IN (SELECT unnest($run_ids))
UNION
SELECT trace_id FROM open_steps WHERE run_id IN (SELECT unnest($run_ids));
