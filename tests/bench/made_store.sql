-- Runs of 16 spans (1 agent, 8 chat, 7 tool) from $from_run to $to_run - 1: rows as the loader writes them, without its work.
-- Ids are hashes, so that zone maps help as little as they do with random ones.
CREATE OR REPLACE TEMP TABLE made AS
WITH runs AS (
    SELECT
        run,
        md5('trace' || run) AS trace_id,
        md5('run' || run) AS run_id,
        1770000000000000000 + run * 20000000000 AS run_ns,
        ['openai', 'anthropic', 'google'][1 + run % 3] AS provider,
        ['gpt-4o-mini', 'claude-sonnet-4-5', 'gemini-2.5-flash'][1 + run % 3] AS model
    FROM range($from_run, $to_run) AS r (run)
)
SELECT
    *,
    left(md5('span' || run || '-' || i), 16) AS span_id,
    CASE WHEN i > 0 THEN left(md5('span' || run || '-0'), 16) END AS parent_span_id,
    CASE WHEN i = 0 THEN 'agent' WHEN i % 2 = 1 THEN 'llm' ELSE 'tool' END AS kind,
    CASE WHEN i = 0 THEN 'invoke_agent planner' WHEN i % 2 = 1 THEN 'chat ' || model ELSE 'execute_tool search_docs' END AS name,
    run_ns + i * 60000000 AS started_ns,
    run_ns + i * 60000000 + CASE WHEN i = 0 THEN 1000000000 ELSE 5000000 + hash(run, i) % 50000000 END AS ended_ns,
    600 + hash(i, run) % 800 AS input_tokens,
    80 + hash(run, i, 1) % 160 AS output_tokens
FROM runs, range(16) AS s (i)
ORDER BY run, i;

INSERT INTO stored_spans BY NAME
SELECT
    trace_id,
    span_id,
    parent_span_id,
    name,
    1 AS kind,
    started_ns,
    ended_ns,
    0 AS status_code,
    'bench' AS scope_name,
    'checkout-agent' AS service,
    '{"service.name":"checkout-agent"}' AS resource,
    '{"gen_ai.operation.name":"chat","gen_ai.conversation.id":"conv-' || run // 4 || '"}' AS attributes,
    false AS start_record,
    unhex(md5(span_id)) AS digest,
    ended_ns AS received_ns,
    'journal' AS source
FROM made;

INSERT INTO stored_traces SELECT trace_id, min(started_ns), max(started_ns) FROM made GROUP BY trace_id ORDER BY 2;

INSERT INTO closed_steps BY NAME
SELECT
    run_id,
    1 AS version,
    i + 1 AS step_index,
    CASE WHEN i > 0 THEN i END AS call_index,
    trace_id,
    span_id,
    parent_span_id,
    kind,
    name,
    'planner' AS agent,
    CASE WHEN kind <> 'tool' THEN provider END AS provider,
    CASE WHEN kind = 'llm' THEN model END AS model,
    CASE WHEN kind = 'llm' THEN model END AS request_model,
    CASE WHEN kind = 'llm' THEN model END AS response_model,
    CASE WHEN kind = 'llm' THEN 'resp-' || span_id END AS response_id,
    CASE WHEN hash(run, i, 2) % 50 = 0 THEN 'failed' ELSE 'completed' END AS status,
    started_ns,
    ended_ns,
    CASE WHEN kind = 'llm' THEN input_tokens END AS input_tokens,
    CASE WHEN kind = 'llm' THEN output_tokens END AS output_tokens,
    CASE WHEN kind = 'llm' THEN input_tokens // 2 END AS cache_read_tokens,
    CASE WHEN kind = 'llm' THEN 'span' ELSE 'none' END AS usage_source,
    CASE WHEN kind = 'llm' THEN CAST(input_tokens * 0.00000015 + output_tokens * 0.0000006 AS DECIMAL(18, 12)) END AS cost_usd,
    CASE WHEN kind = 'llm' THEN CAST(input_tokens * 0.00000015 + output_tokens * 0.0000006 AS DECIMAL(18, 12)) END AS estimated_cost_usd,
    CASE WHEN kind = 'llm' THEN 'estimated' ELSE 'none' END AS cost_status,
    CASE WHEN kind = 'llm' THEN 'acme' END AS price_table,
    CASE WHEN kind = 'llm' THEN '2026-01' END AS price_version,
    i > 0 AS counted,
    CASE WHEN kind = 'tool' THEN 'search_docs' END AS tool_name,
    CASE WHEN kind = 'llm' THEN '{"temperature":0.2,"max_tokens":2048}' END AS params,
    'otel_genai' AS convention,
    'bench' AS scope,
    'full' AS content
FROM made;

INSERT INTO closed_runs BY NAME
SELECT
    any_value(run_id) AS run_id,
    1 AS version,
    any_value(trace_id) AS trace_id,
    any_value(span_id) FILTER (WHERE i = 0) AS root_span_id,
    'conv-' || run // 4 AS session_id,
    'user-' || run % 1000 AS user_id,
    'checkout-agent' AS service,
    'planner' AS agent,
    CASE WHEN run % 20 = 0 THEN 'failed' ELSE 'completed' END AS status,
    min(started_ns) AS started_ns,
    max(ended_ns) AS finished_ns,
    max(ended_ns) AS last_ns,
    15 AS step_count,
    8 AS llm_calls,
    7 AS tool_calls,
    0 AS error_count,
    sum(input_tokens) FILTER (WHERE kind = 'llm') AS input_tokens,
    sum(output_tokens) FILTER (WHERE kind = 'llm') AS output_tokens,
    0 AS usage_missing_calls,
    CAST(sum(CAST(input_tokens * 0.00000015 + output_tokens * 0.0000006 AS DECIMAL(18, 12))) FILTER (WHERE kind = 'llm') AS DECIMAL(18, 12)) AS cost_usd,
    CAST(sum(CAST(input_tokens * 0.00000015 + output_tokens * 0.0000006 AS DECIMAL(18, 12))) FILTER (WHERE kind = 'llm') AS DECIMAL(18, 12)) AS estimated_cost_usd,
    'estimated' AS cost_status,
    'acme' AS price_table,
    '2026-01' AS price_version,
    0 AS unpriced_calls,
    [any_value(model)] AS models,
    'Which of the documents says how to configure the exporter? ' || run AS input,
    'The second one, in its chapter on settings. ' || run AS output,
    true AS complete
FROM made
GROUP BY run
ORDER BY run;

INSERT INTO closed_agents BY NAME
SELECT
    run_id,
    1 AS version,
    0 AS position,
    agent,
    0 AS depth,
    15 AS calls,
    input_tokens AS own_input_tokens,
    output_tokens AS own_output_tokens,
    cost_usd AS own_cost_usd,
    input_tokens AS inclusive_input_tokens,
    output_tokens AS inclusive_output_tokens,
    cost_usd AS inclusive_cost_usd,
    started_ns
FROM closed_runs
SEMI JOIN made ON closed_runs.run_id = made.run_id;

INSERT INTO closed_models
SELECT
    run_id,
    1 AS version,
    started_ns // 86400000000000 AS day,
    provider,
    model,
    count(*),
    count(*) FILTER (WHERE status = 'failed'),
    0 AS unpriced_calls,
    CAST(sum(input_tokens) AS BIGINT),
    CAST(sum(output_tokens) AS BIGINT),
    sum(cost_usd),
    list(ended_ns - started_ns)
FROM closed_steps
WHERE kind = 'llm' AND started_ns BETWEEN (SELECT min(started_ns) FROM made) AND (SELECT max(started_ns) FROM made)
GROUP BY run_id, day, provider, model
ORDER BY min(started_ns);
