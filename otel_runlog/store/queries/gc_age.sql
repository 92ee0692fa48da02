-- Which runs are old: their last sign is, and they are none of the newest, which started at $kept_from_ns or later.
CREATE OR REPLACE TEMP TABLE aged_runs AS
SELECT
    run_id,
    coalesce(started_ns, 0) AS at_ns,
    coalesce(coalesce(last_ns, finished_ns, started_ns) < $before_ns AND (started_ns < $kept_from_ns) IS NOT false, false) AS is_old
FROM (
    SELECT c.run_id, c.started_ns, c.finished_ns, c.last_ns
    FROM closed_runs AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT run_id, started_ns, finished_ns, last_ns FROM open_runs
);
