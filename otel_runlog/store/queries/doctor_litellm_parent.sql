-- Spans of the application that LiteLLM wrote its calls on, the last over all before (known_faults, litellm_on_parent).
SELECT
    r.service,
    count(*) AS number,
    any_value(r.run_id) AS example,
    coalesce(list_sort(list(DISTINCT s.name)), []) AS names
FROM steps AS s
JOIN runs AS r ON s.run_id = r.run_id
WHERE s.convention = 'litellm'
    AND s.kind = 'llm'
    AND s.name <> 'raw_gen_ai_request'
    AND coalesce(s.scope, '') <> 'litellm'
    AND (s.request_model IS NULL OR NOT suffix(s.name, s.request_model))
GROUP BY r.service
ORDER BY number DESC;
