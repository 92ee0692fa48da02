-- When the oldest of the newest $keep_runs runs started.
WITH newest AS (
    SELECT c.started_ns FROM closed_runs AS c ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT started_ns FROM open_runs
)
SELECT min(started_ns) FROM (SELECT started_ns FROM newest ORDER BY started_ns DESC NULLS LAST LIMIT $keep_runs);
