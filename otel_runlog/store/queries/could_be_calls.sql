-- Whether there is any model call in the given time of a scope, and in a place, that a second view of the calls at hand
-- can have: it hardly ever is, and to know that takes a fourth of asking calls_between.
WITH calls AS (
    SELECT parent_span_id, scope FROM closed_steps
    WHERE started_ns <= $ended_ns AND ended_ns >= $started_ns AND kind IN ('llm', 'embedding')
    UNION ALL
    SELECT parent_span_id, scope FROM open_steps
    WHERE started_ns <= $ended_ns AND ended_ns >= $started_ns AND kind IN ('llm', 'embedding')
)
SELECT 1 FROM calls
WHERE ($lone OR parent_span_id IS NULL) AND (len($scopes) > 1 OR NOT list_contains($scopes, scope))
LIMIT 1;
