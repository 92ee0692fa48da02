-- Runs whose first span never came.
SELECT service, count(*) AS number, any_value(run_id) AS example
FROM runs
WHERE array_to_string(notes, chr(10)) LIKE '%root_missing:%'
GROUP BY service
ORDER BY number DESC;
