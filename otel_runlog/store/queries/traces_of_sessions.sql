-- The traces that all runs of these sessions come from. Versions that no longer count change nothing.
SELECT trace_id FROM closed_runs WHERE session_id IN (SELECT unnest($session_ids)) AND trace_id IS NOT NULL
UNION
SELECT trace_id FROM closed_traces
WHERE run_id IN (SELECT run_id FROM closed_runs WHERE session_id IN (SELECT unnest($session_ids)))
UNION
SELECT trace_id FROM open_steps
WHERE run_id IN (SELECT run_id FROM open_runs WHERE session_id IN (SELECT unnest($session_ids)));
