-- Model calls that went well and carry no token counts. `$emitters` is a pattern of conventions and scopes, which
-- those of the calls match or, if not `$among`, do not; `$streaming` NULL: streams and others, where no span tells.
-- That a call was a stream may stand in a note alone (known_faults, openai_agents_zeros).
SELECT
    r.service,
    count(*) AS number,
    any_value(r.run_id) AS example,
    coalesce(list_sort(list(DISTINCT c.scope) FILTER (WHERE c.scope <> '')), []) AS names
FROM llm_calls AS c
JOIN runs AS r ON c.run_id = r.run_id
WHERE c.input_tokens IS NULL
    AND c.status NOT IN ('failed', 'cancelled')
    AND (
        $streaming IS NULL
        OR coalesce(c.streaming, array_to_string(c.notes, chr(10)) LIKE '%of a stream that told none%') = $streaming
    )
    AND regexp_matches(concat_ws(' ', c.convention, c.scope), $emitters) = $among
GROUP BY r.service
ORDER BY number DESC;
