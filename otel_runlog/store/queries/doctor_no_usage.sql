-- Model calls that went well and carry no token counts.
SELECT r.service, count(*) AS number, any_value(r.run_id) AS example
FROM llm_calls AS c
JOIN runs AS r ON c.run_id = r.run_id
WHERE c.input_tokens IS NULL
    AND c.status <> 'failed'
    AND coalesce(c.streaming, false) = $streaming
GROUP BY r.service
ORDER BY number DESC;
