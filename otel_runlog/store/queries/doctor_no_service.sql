-- Runs of a process that was not given a name: OpenTelemetry then says unknown_service.
SELECT service, count(*) AS number, any_value(run_id) AS example
FROM runs
WHERE service IS NULL OR starts_with(service, 'unknown_service')
GROUP BY service
ORDER BY number DESC;
