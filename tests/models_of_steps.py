"""What the view `models` must say, made of the single steps."""

from otel_runlog.store.reader import StoreReader

OF_STEPS = """
    SELECT
        CAST(make_timestamp(started_ns // 1000) AS DATE) AS day,
        provider,
        model,
        count(*) AS calls,
        count(*) FILTER (WHERE status = 'failed') AS failed_calls,
        CAST(sum(input_tokens) AS BIGINT) AS input_tokens,
        CAST(sum(output_tokens) AS BIGINT) AS output_tokens,
        CAST(sum(cost_usd) AS DECIMAL(18, 12)) AS cost_usd,
        count(*) FILTER (WHERE cost_status = 'unpriced') AS unpriced_calls,
        quantile_cont(ended_ns - started_ns, 0.5) FILTER (WHERE ended_ns >= started_ns) / 1e6 AS p50_ms,
        quantile_cont(ended_ns - started_ns, 0.95) FILTER (WHERE ended_ns >= started_ns) / 1e6 AS p95_ms
    FROM llm_calls
    WHERE run_id NOT IN (SELECT run_id FROM runs WHERE cost_status = 'replayed')
    GROUP BY ALL
    ORDER BY ALL
"""


def assert_models_are_their_steps(reader: StoreReader) -> None:
    """The sums that stand in the store are those of the steps that count now."""
    assert reader.query("FROM models ORDER BY ALL").rows == reader.query(OF_STEPS).rows
