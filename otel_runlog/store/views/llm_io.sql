-- What the model calls of captured runs were asked and answered, messages and tools written out where the document names
-- them by digest (captures/document.py). `request` and `answer` are in the neutral words of conversation.py. All happens
-- within the row of a capture: conditions on it are seen before anything is written out.
CREATE OR REPLACE VIEW llm_io AS
WITH refs AS NOT MATERIALIZED (
    SELECT
        run_id,
        version,
        list(turns ORDER BY position) AS turns,
        list(tools ORDER BY position) AS tools,
        list(answer ORDER BY position) AS answers
    FROM captured_refs
    GROUP BY run_id, version
),
documents AS NOT MATERIALIZED (
    SELECT
        c.run_id,
        map_values(from_json(json_extract(c.capture, '$.contents'), '"MAP(VARCHAR, JSON)"')) AS contents,
        json_extract(c.capture, '$.llm_io[*]') AS entries,
        r.turns,
        r.tools,
        r.answers
    FROM stored_captures AS c
    ANTI JOIN superseded_captures AS s ON c.run_id = s.run_id AND c.version = s.version
    LEFT JOIN refs AS r ON c.run_id = r.run_id AND c.version = r.version
),
calls AS NOT MATERIALIZED (
    SELECT
        run_id,
        contents,
        unnest(turns) AS turns,
        unnest(tools) AS tools,
        unnest(answers) AS answer,
        from_json(
            unnest(entries),
            '{"step_index": "BIGINT", "call_index": "BIGINT", "operation": "VARCHAR", "fingerprint": "VARCHAR",
              "occurrence": "BIGINT", "lane": "VARCHAR", "request": "JSON", "answer": "JSON", "error": "JSON",
              "completeness": "VARCHAR", "response_id": "VARCHAR", "provider": "VARCHAR", "model": "VARCHAR",
              "model_version": "VARCHAR", "provider_version": "VARCHAR", "seed": "BIGINT", "params": "JSON"}'
        ) AS call
    FROM documents
)
SELECT
    run_id,
    call.step_index AS step_index,
    call.call_index AS call_index,
    call.fingerprint AS fingerprint,
    call.occurrence AS occurrence,
    call.lane AS lane,
    CASE WHEN call.request IS NOT NULL THEN json_merge_patch(
        call.request,
        json_object('continues', NULL, 'turns', list_transform(turns, lambda place: contents[place])),
        CASE WHEN tools IS NULL THEN CAST('{}' AS JSON)
        ELSE json_object('tools', list_transform(tools, lambda place: contents[place])) END
    ) END AS request,
    CASE WHEN call.answer IS NOT NULL THEN json_merge_patch(
        call.answer,
        json_object('message', NULL, 'parts', coalesce(json_extract(contents[answer], '$.parts'), CAST('[]' AS JSON)))
    ) END AS answer,
    call.error AS error,
    call.completeness AS completeness,
    call.response_id AS response_id,
    call.provider AS provider,
    call.model AS model,
    call.model_version AS model_version,
    call.seed AS seed,
    call.params AS params,
    call.operation AS operation,
    call.provider_version AS provider_version
FROM calls;
