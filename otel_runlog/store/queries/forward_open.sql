-- Traces with a run that is not closed.
SELECT trace_id FROM open_runs WHERE trace_id IN (SELECT unnest($trace_ids))
UNION
SELECT trace_id FROM open_steps WHERE trace_id IN (SELECT unnest($trace_ids));
