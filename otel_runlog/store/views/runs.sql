-- The newest version of every run. An open run for which nothing came for the quiet time is shown as incomplete; the
-- clock is read here, so that a store nobody writes to any more tells the truth too.
CREATE OR REPLACE VIEW runs AS
WITH last_ends AS (
    SELECT run_id, max(ended_ns) AS last_end_ns
    FROM open_steps
    GROUP BY run_id
),
silence AS (
    SELECT
        o.* EXCLUDE (touched_ns),
        e.last_end_ns,
        o.status = 'running'
        AND epoch_us(now()) - coalesce(o.last_ns, o.started_ns, 0) // 1000
        >= (SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'quiet_time_s') * 1000000 AS is_quiet
    FROM open_runs AS o
    LEFT JOIN last_ends AS e ON o.run_id = e.run_id
),
newest AS (
    SELECT c.*
    FROM closed_runs AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT * EXCLUDE (last_end_ns, is_quiet) REPLACE (
        CASE WHEN is_quiet THEN 'incomplete' ELSE status END AS status,
        complete AND NOT is_quiet AS complete,
        CASE WHEN is_quiet THEN coalesce(last_end_ns, finished_ns) ELSE finished_ns END AS finished_ns
    )
    FROM silence
)
SELECT
    run_id,
    native_run_id,
    trace_id,
    root_span_id,
    session_id,
    user_id,
    service,
    service_version,
    environment,
    agent,
    status,
    status_message,
    make_timestamptz(started_ns // 1000) AS started_at,
    make_timestamptz(finished_ns // 1000) AS finished_at,
    CASE WHEN finished_ns >= started_ns THEN (finished_ns - started_ns) / 1e6 END AS duration_ms,
    step_count,
    llm_calls,
    tool_calls,
    error_count,
    input_tokens,
    output_tokens,
    cache_read_tokens,
    cache_write_tokens,
    reasoning_tokens,
    coalesce(input_tokens + output_tokens, input_tokens, output_tokens) AS total_tokens,
    usage_missing_calls,
    cost_usd,
    estimated_cost_usd,
    cost_status,
    unpriced_calls,
    coalesce(unpriced_models, []) AS unpriced_models,
    price_table,
    price_version,
    coalesce(models, []) AS models,
    input,
    output,
    coalesce(tags, []) AS tags,
    coalesce(labels, CAST('{}' AS JSON)) AS labels,
    coalesce(attributes, CAST('{}' AS JSON)) AS attributes,
    complete,
    coalesce(warnings, []) AS warnings,
    coalesce(notes, []) AS notes,
    launch_id,
    replay_of,
    fork_of,
    fork_at,
    reported_cost_usd,
    cache_write_5m_tokens,
    cache_write_1h_tokens,
    version,
    started_ns,
    finished_ns,
    last_ns
FROM newest;
