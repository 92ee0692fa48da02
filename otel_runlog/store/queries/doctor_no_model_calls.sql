-- Agents and tools of a service whose runs end well and never, in none of them, have a model call: the client that
-- calls the model is not instrumented.
WITH silent AS (
    SELECT service, agent
    FROM runs
    GROUP BY service, agent
    HAVING max(llm_calls) = 0
)
SELECT
    r.service,
    count(*) AS number,
    any_value(r.run_id) AS example,
    coalesce(list_sort(list(DISTINCT r.agent) FILTER (WHERE r.agent IS NOT NULL)), []) AS names
FROM runs AS r
JOIN silent AS s ON r.service IS NOT DISTINCT FROM s.service AND r.agent IS NOT DISTINCT FROM s.agent
WHERE r.status = 'completed'
    AND EXISTS (SELECT 1 FROM steps AS p WHERE p.run_id = r.run_id AND p.kind IN ('agent', 'workflow', 'tool'))
GROUP BY r.service
ORDER BY number DESC;
