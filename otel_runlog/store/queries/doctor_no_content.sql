-- Model calls that carry neither prompt nor answer. Refused calls have no answer, so they say nothing.
SELECT r.service, count(*) AS number, any_value(r.run_id) AS example
FROM llm_calls AS c
JOIN runs AS r ON c.run_id = r.run_id
WHERE c.content = 'none' AND c.kind = 'llm' AND c.status <> 'failed' AND c.convention = $convention
GROUP BY r.service
ORDER BY number DESC;
