-- Model calls by the UTC day they started on. Calls of replays are left out. Of closed runs the sums of each are added up:
-- of 2.5 million calls that takes 0.4 of the time that going through the steps takes.
CREATE OR REPLACE VIEW models AS
WITH replayed AS (
    SELECT c.run_id
    FROM closed_runs AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    WHERE c.cost_status = 'replayed'
    UNION ALL
    SELECT run_id FROM open_runs WHERE cost_status = 'replayed'
),
newest AS (
    SELECT c.*
    FROM closed_models AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT
        run_id,
        version,
        started_ns // 86400000000000 AS day,
        provider,
        model,
        1 AS calls,
        CAST(coalesce(status = 'failed', false) AS BIGINT) AS failed_calls,
        CAST(coalesce(cost_status = 'unpriced', false) AS BIGINT) AS unpriced_calls,
        input_tokens,
        output_tokens,
        cost_usd,
        CASE WHEN ended_ns >= started_ns THEN [ended_ns - started_ns] END AS durations_ns
    FROM open_steps
    WHERE counted AND kind IN ('llm', 'embedding')
),
sums AS (
    SELECT
        n.day,
        n.provider,
        n.model,
        CAST(sum(n.calls) AS BIGINT) AS calls,
        CAST(sum(n.failed_calls) AS BIGINT) AS failed_calls,
        CAST(sum(n.input_tokens) AS BIGINT) AS input_tokens,
        CAST(sum(n.output_tokens) AS BIGINT) AS output_tokens,
        CAST(sum(n.cost_usd) AS DECIMAL(18, 12)) AS cost_usd,
        CAST(sum(n.unpriced_calls) AS BIGINT) AS unpriced_calls,
        list_aggregate(flatten(list(n.durations_ns) FILTER (WHERE n.durations_ns IS NOT NULL)), 'quantile_cont', [0.5, 0.95])
            AS durations_ns
    FROM newest AS n
    ANTI JOIN replayed AS r ON n.run_id = r.run_id
    GROUP BY n.day, n.provider, n.model
)
SELECT
    CAST('1970-01-01' AS DATE) + CAST(day AS INTEGER) AS day,
    provider,
    model,
    calls,
    failed_calls,
    input_tokens,
    output_tokens,
    cost_usd,
    unpriced_calls,
    durations_ns[1] / 1e6 AS p50_ms,
    durations_ns[2] / 1e6 AS p95_ms
FROM sums;
