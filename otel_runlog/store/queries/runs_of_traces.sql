-- A run belongs to every trace one of its steps comes from.
WITH of_traces AS (
    SELECT run_id, version, false AS is_open, trace_id FROM closed_runs
    WHERE trace_id IN (SELECT unnest($trace_ids))
    UNION
    SELECT run_id, version, false AS is_open, trace_id FROM closed_traces
    WHERE trace_id IN (SELECT unnest($trace_ids))
    UNION
    SELECT run_id, version, true AS is_open, trace_id FROM open_steps
    WHERE trace_id IN (SELECT unnest($trace_ids))
    UNION
    SELECT run_id, version, true AS is_open, trace_id FROM open_runs
    WHERE trace_id IN (SELECT unnest($trace_ids))
)
SELECT o.run_id, o.version, o.is_open, o.trace_id
FROM of_traces AS o
ANTI JOIN superseded AS s ON o.run_id = s.run_id AND o.version = s.version AND NOT o.is_open
ORDER BY ALL;
