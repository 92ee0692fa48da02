-- The runs after the cursor ($at_ns, $run_id), by start, as they now count. Replays cost nothing, whatever the prices.
WITH newest AS (
    SELECT false AS is_open, c.run_id, c.version, c.started_ns, c.last_ns, c.step_count, c.usage_missing_calls, c.replay_of, c.notes
    FROM closed_runs AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT true AS is_open, run_id, version, started_ns, last_ns, step_count, usage_missing_calls, replay_of, notes
    FROM open_runs
)
SELECT is_open, run_id, version, coalesce(started_ns, 0) AS at_ns, step_count, coalesce(usage_missing_calls, 0) AS missing, notes
FROM newest
WHERE (coalesce(started_ns, 0), run_id) > ($at_ns, $run_id)
    AND replay_of IS NULL
    AND ($since_ns IS NULL OR last_ns IS NULL OR last_ns >= $since_ns)
ORDER BY at_ns, run_id
LIMIT $limit;
