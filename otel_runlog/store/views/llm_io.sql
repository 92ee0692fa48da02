-- What the model calls of captured runs were asked and answered, messages and tools written out where the document names
-- them by digest (captures/document.py). `request` and `answer` are in the neutral words of conversation.py.
CREATE OR REPLACE VIEW llm_io AS
WITH newest AS NOT MATERIALIZED (
    SELECT c.run_id, c.version, c.capture
    FROM stored_captures AS c
    ANTI JOIN superseded_captures AS s ON c.run_id = s.run_id AND c.version = s.version
),
named AS NOT MATERIALIZED (
    SELECT run_id, from_json(json_extract(capture, '$.contents'), '"MAP(VARCHAR, JSON)"') AS contents
    FROM newest
),
contents AS NOT MATERIALIZED (
    SELECT
        run_id,
        unnest(range(1, 1 + CAST(cardinality(contents) AS BIGINT))) AS place,
        unnest(map_keys(contents)) AS digest,
        unnest(map_values(contents)) AS content
    FROM named
),
entries AS NOT MATERIALIZED (
    SELECT run_id, version, json_extract(capture, '$.llm_io[*]') AS entries
    FROM newest
),
calls AS NOT MATERIALIZED (
    SELECT
        run_id,
        version,
        unnest(range(1, len(entries) + 1)) AS position,
        from_json(
            unnest(entries),
            '{"step_index": "BIGINT", "call_index": "BIGINT", "operation": "VARCHAR", "fingerprint": "VARCHAR",
              "occurrence": "BIGINT", "lane": "VARCHAR", "request": "JSON", "answer": "JSON", "error": "JSON",
              "completeness": "VARCHAR", "response_id": "VARCHAR", "provider": "VARCHAR", "model": "VARCHAR",
              "model_version": "VARCHAR", "provider_version": "VARCHAR", "seed": "BIGINT", "params": "JSON"}'
        ) AS call
    FROM entries
),
sent AS NOT MATERIALIZED (
    SELECT run_id, version, position, 'turn' AS kind, unnest(range(1, len(turns) + 1)) AS number, unnest(turns) AS place
    FROM captured_refs
    UNION ALL
    SELECT run_id, version, position, 'tool' AS kind, unnest(range(1, len(tools) + 1)) AS number, unnest(tools) AS place
    FROM captured_refs
),
written AS NOT MATERIALIZED (
    SELECT
        s.run_id,
        s.version,
        s.position,
        to_json(list(c.content ORDER BY s.number) FILTER (WHERE s.kind = 'turn')) AS turns,
        to_json(list(c.content ORDER BY s.number) FILTER (WHERE s.kind = 'tool')) AS tools
    FROM sent AS s
    JOIN contents AS c ON s.run_id = c.run_id AND s.place = c.place
    GROUP BY s.run_id, s.version, s.position
)
SELECT
    k.run_id,
    k.call.step_index AS step_index,
    k.call.call_index AS call_index,
    k.call.fingerprint AS fingerprint,
    k.call.occurrence AS occurrence,
    k.call.lane AS lane,
    CASE WHEN k.call.request IS NOT NULL THEN json_merge_patch(
        k.call.request,
        json_object('continues', NULL, 'turns', coalesce(w.turns, CAST('[]' AS JSON))),
        CASE WHEN w.tools IS NULL THEN CAST('{}' AS JSON) ELSE json_object('tools', w.tools) END
    ) END AS request,
    CASE WHEN k.call.answer IS NOT NULL THEN json_merge_patch(
        k.call.answer,
        json_object('message', NULL, 'parts', coalesce(json_extract(m.content, '$.parts'), CAST('[]' AS JSON)))
    ) END AS answer,
    k.call.error AS error,
    k.call.completeness AS completeness,
    k.call.response_id AS response_id,
    k.call.provider AS provider,
    k.call.model AS model,
    k.call.model_version AS model_version,
    k.call.seed AS seed,
    k.call.params AS params,
    k.call.operation AS operation,
    k.call.provider_version AS provider_version
FROM calls AS k
LEFT JOIN written AS w ON k.run_id = w.run_id AND k.version = w.version AND k.position = w.position
LEFT JOIN contents AS m ON k.run_id = m.run_id AND json_extract_string(k.call.answer, '$.message') = m.digest;
