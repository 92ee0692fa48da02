SELECT
    r.service,
    count(*) AS number,
    any_value(r.run_id) AS example,
    coalesce(list_sort(list(DISTINCT c.model) FILTER (WHERE c.model IS NOT NULL)), []) AS names
FROM llm_calls AS c
JOIN runs AS r ON c.run_id = r.run_id
WHERE c.cost_status = 'unpriced'
GROUP BY r.service
ORDER BY number DESC;
