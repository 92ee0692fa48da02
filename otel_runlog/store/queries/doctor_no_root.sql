-- Runs whose first span never came.
SELECT service, count(*) AS number, any_value(run_id) AS example
FROM runs
WHERE len(list_filter(notes, note -> starts_with(note, 'root_missing'))) > 0
GROUP BY service
ORDER BY number DESC;
