-- The steps of these runs that make their cost, or could. Amounts are text: as such they are compared.
WITH wanted AS (
    SELECT unnest($run_ids) AS run_id, unnest($versions) AS version, unnest($opens) AS is_open
),
costed AS (
    SELECT false AS is_open, c.rowid AS step_row, c.*
    FROM closed_steps AS c
    JOIN wanted AS w ON c.run_id = w.run_id AND c.version = w.version AND NOT w.is_open
    UNION ALL
    SELECT true AS is_open, o.rowid AS step_row, o.*
    FROM open_steps AS o
    JOIN wanted AS w ON o.run_id = w.run_id AND w.is_open
)
SELECT
    is_open,
    step_row,
    run_id,
    span_id,
    kind,
    agent,
    provider,
    model,
    response_model,
    request_model,
    service_tier,
    started_ns,
    input_tokens,
    output_tokens,
    cache_read_tokens,
    cache_write_tokens,
    reasoning_tokens,
    cache_write_5m_tokens,
    cache_write_1h_tokens,
    usage_source,
    CAST(cost_usd AS VARCHAR) AS cost_usd,
    CAST(reported_cost_usd AS VARCHAR) AS reported_usd,
    CAST(estimated_cost_usd AS VARCHAR) AS estimated_usd,
    coalesce(cost_status, 'none') AS cost_status,
    price_table,
    price_version,
    notes
FROM costed
WHERE counted AND (kind IN ('llm', 'embedding') OR usage_source = 'rollup' OR cost_status <> 'none');
