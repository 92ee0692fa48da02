-- Model calls by the UTC day they started on. Calls of replays are left out.
CREATE OR REPLACE VIEW models AS
SELECT
    CAST(make_timestamp(c.started_ns // 1000) AS DATE) AS day,
    c.provider,
    c.model,
    count(*) AS calls,
    count(*) FILTER (WHERE c.status = 'failed') AS failed_calls,
    CAST(sum(c.input_tokens) AS BIGINT) AS input_tokens,
    CAST(sum(c.output_tokens) AS BIGINT) AS output_tokens,
    CAST(sum(c.cost_usd) AS DECIMAL(18, 12)) AS cost_usd,
    count(*) FILTER (WHERE c.cost_status = 'unpriced') AS unpriced_calls,
    quantile_cont((c.ended_ns - c.started_ns) / 1e6, 0.5) FILTER (WHERE c.ended_ns >= c.started_ns) AS p50_ms,
    quantile_cont((c.ended_ns - c.started_ns) / 1e6, 0.95) FILTER (WHERE c.ended_ns >= c.started_ns) AS p95_ms
FROM llm_calls AS c
ANTI JOIN (SELECT run_id FROM runs WHERE cost_status = 'replayed') AS r ON c.run_id = r.run_id
GROUP BY ALL;
