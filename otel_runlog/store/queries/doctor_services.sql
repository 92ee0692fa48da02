-- What is captured, by service: how many of its model calls have prompt and answer, usage, and a price.
SELECT
    r.service,
    count(DISTINCT r.run_id) AS runs,
    count(DISTINCT r.run_id) FILTER (WHERE r.session_id IS NOT NULL) AS runs_with_session,
    count(c.span_id) AS model_calls,
    count(*) FILTER (WHERE c.content = 'full') AS calls_with_content,
    count(*) FILTER (WHERE c.input_tokens IS NOT NULL) AS calls_with_usage,
    count(*) FILTER (WHERE c.cost_status IN ('reported', 'estimated')) AS calls_with_cost,
    coalesce(list_sort(list(DISTINCT c.convention) FILTER (WHERE c.convention IS NOT NULL)), []) AS conventions
FROM runs AS r
LEFT JOIN llm_calls AS c ON r.run_id = c.run_id
GROUP BY r.service
ORDER BY runs DESC, r.service;
