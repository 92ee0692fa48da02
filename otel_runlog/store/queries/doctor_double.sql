-- Model calls that several instrumentations report. `$native`: one of the two is the Anthropic SDK itself. LiteLLM's
-- raw span below the application's is no second one (doctor_litellm_parent).
SELECT
    r.service,
    count(*) AS number,
    any_value(r.run_id) AS example,
    coalesce(list_sort(list(DISTINCT least(d.scope, c.scope) || ' and ' || greatest(d.scope, c.scope))), []) AS names
FROM steps AS d
JOIN steps AS c ON d.run_id = c.run_id AND d.duplicate_of = c.span_id
JOIN runs AS r ON d.run_id = r.run_id
WHERE d.kind IN ('llm', 'embedding')
    AND d.scope <> c.scope
    AND NOT (d.convention = 'litellm' AND c.convention = 'litellm')
    AND (d.convention = 'anthropic_sdk' OR c.convention = 'anthropic_sdk') = $native
GROUP BY r.service
ORDER BY number DESC;
