-- How many open runs the view `runs` shows as incomplete.
SELECT count(*) FROM open_runs
WHERE status = 'running'
    AND epoch_us(now()) - coalesce(last_ns, started_ns, 0) // 1000
    >= (SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'quiet_time_s') * 1000000;
