-- Model calls whose messages were cut at a length, by the SDK or by their instrumentation.
SELECT
    r.service,
    count(*) AS number,
    any_value(r.run_id) AS example,
    coalesce(list_sort(list(DISTINCT c.scope) FILTER (WHERE c.scope IS NOT NULL)), []) AS names
FROM llm_calls AS c
JOIN runs AS r ON c.run_id = r.run_id
WHERE array_to_string(c.notes, chr(10)) LIKE '%content_truncated: the messages%'
GROUP BY r.service
ORDER BY number DESC;
