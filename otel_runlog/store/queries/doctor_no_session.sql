SELECT service, count(*) AS number, any_value(run_id) AS example
FROM runs
WHERE session_id IS NULL
GROUP BY service
ORDER BY number DESC;
