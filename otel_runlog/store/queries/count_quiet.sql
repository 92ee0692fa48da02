-- How many open runs the view `runs` shows as incomplete, and have not been loaded anew for the quiet time either: what
-- comes hours late, one span after the other, closes nothing.
SELECT count(*) FROM open_runs
WHERE status = 'running'
    AND epoch_us(now()) - greatest(coalesce(last_ns, started_ns, 0), coalesce(touched_ns, 0)) // 1000
    >= (SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'quiet_time_s') * 1000000;
