-- The traces that these runs and their steps come from.
SELECT trace_id FROM closed_runs WHERE run_id IN (SELECT unnest($run_ids)) AND trace_id IS NOT NULL
UNION
SELECT trace_id FROM closed_traces WHERE run_id IN (SELECT unnest($run_ids))
UNION
SELECT trace_id FROM open_steps WHERE run_id IN (SELECT unnest($run_ids));
