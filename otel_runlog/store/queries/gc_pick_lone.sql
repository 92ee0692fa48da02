-- Traces without any run, of which everything is old.
CREATE OR REPLACE TEMP TABLE gone_runs AS SELECT run_id FROM closed_runs LIMIT 0;
CREATE OR REPLACE TEMP TABLE gone_traces AS
SELECT trace_id
FROM (
    SELECT trace_id, coalesce(ended_ns, started_ns, received_ns) AS last_ns FROM stored_spans
    UNION ALL
    SELECT trace_id, coalesce(started_ns, received_ns) AS last_ns FROM open_spans
    UNION ALL
    SELECT coalesce(place, trace_id) AS trace_id, coalesce(time_ns, observed_ns, received_ns) AS last_ns FROM stored_logs
)
WHERE trace_id IS NOT NULL
    AND trace_id NOT IN (
        SELECT trace_id FROM closed_steps WHERE trace_id IS NOT NULL
        UNION SELECT trace_id FROM open_steps WHERE trace_id IS NOT NULL
        UNION SELECT trace_id FROM closed_runs WHERE trace_id IS NOT NULL
        UNION SELECT trace_id FROM open_runs WHERE trace_id IS NOT NULL
    )
GROUP BY trace_id
HAVING max(last_ns) < $before_ns;
