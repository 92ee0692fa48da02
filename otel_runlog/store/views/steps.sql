-- The steps of the newest version of every run.
CREATE OR REPLACE VIEW steps AS
WITH newest AS (
    SELECT c.*
    FROM closed_steps AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT * FROM open_steps
)
SELECT
    run_id,
    step_index,
    call_index,
    trace_id,
    span_id,
    parent_span_id,
    kind,
    name,
    agent,
    provider,
    model,
    request_model,
    response_model,
    response_id,
    status,
    error_type,
    error_message,
    make_timestamptz(started_ns // 1000) AS started_at,
    make_timestamptz(ended_ns // 1000) AS finished_at,
    started_ns,
    ended_ns,
    CASE WHEN ended_ns >= started_ns THEN (ended_ns - started_ns) / 1e6 END AS duration_ms,
    time_to_first_token_ms,
    streaming,
    input_tokens,
    output_tokens,
    cache_read_tokens,
    cache_write_tokens,
    reasoning_tokens,
    usage_source,
    cost_usd,
    reported_cost_usd,
    estimated_cost_usd,
    cost_status,
    price_table,
    price_version,
    service_tier,
    counted,
    duplicate_of,
    tool_name,
    tool_call_id,
    finish_reason,
    coalesce(params, CAST('{}' AS JSON)) AS params,
    convention,
    scope,
    content,
    coalesce(warnings, []) AS warnings,
    coalesce(notes, []) AS notes,
    cache_write_5m_tokens,
    cache_write_1h_tokens
FROM newest;
