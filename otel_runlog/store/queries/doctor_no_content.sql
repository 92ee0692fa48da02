-- Model calls that came with neither prompt nor answer. Calls that failed have no answer, so they say nothing.
SELECT r.service, count(*) AS number, any_value(r.run_id) AS example
FROM llm_calls AS c
JOIN runs AS r ON c.run_id = r.run_id
WHERE c.content = 'none'
    AND c.kind = 'llm'
    AND c.status <> 'failed'
    AND c.convention = $convention
    AND starts_with(coalesce(c.scope, ''), $scope)
    AND NOT EXISTS (
        SELECT 1
        FROM stored_spans AS m
        WHERE m.trace_id = c.trace_id
            AND m.span_id = c.span_id
            AND (contains(m.messages, '"d":"input"') OR contains(m.messages, '"d":"output"'))
    )
    AND NOT EXISTS (
        SELECT 1
        FROM logged_messages AS m
        WHERE m.trace_id = c.trace_id AND m.span_id = c.span_id AND m.direction IN ('input', 'output')
    )
GROUP BY r.service
ORDER BY number DESC;
