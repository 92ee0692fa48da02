-- The model calls of a closed run by day and model, as `closed_agents` has them by agent: the view `models` adds up these
-- rows, of which there are a tenth as many as calls. `day` counts from 1970-01-01 in UTC; the durations are those of calls
-- that did not end before they began, in no order.
CREATE TABLE closed_models (
    run_id VARCHAR NOT NULL,
    version BIGINT NOT NULL,
    day BIGINT,
    provider VARCHAR,
    model VARCHAR,
    calls BIGINT NOT NULL,
    failed_calls BIGINT NOT NULL,
    unpriced_calls BIGINT NOT NULL,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cost_usd DECIMAL(18, 12),
    durations_ns BIGINT[]
);
INSERT INTO closed_models
SELECT
    run_id,
    version,
    started_ns // 86400000000000 AS day,
    provider,
    model,
    count(*),
    count(*) FILTER (WHERE status = 'failed'),
    count(*) FILTER (WHERE cost_status = 'unpriced'),
    CAST(sum(input_tokens) AS BIGINT),
    CAST(sum(output_tokens) AS BIGINT),
    CAST(sum(cost_usd) AS DECIMAL(18, 12)),
    list(ended_ns - started_ns) FILTER (WHERE ended_ns >= started_ns)
FROM closed_steps
WHERE counted AND kind IN ('llm', 'embedding')
GROUP BY run_id, version, day, provider, model
ORDER BY min(started_ns);
-- The start of the run that an agent belongs to: of one run only the rows of its time are read. Not known of older rows.
ALTER TABLE closed_agents ADD COLUMN started_ns BIGINT;
ALTER TABLE open_agents ADD COLUMN started_ns BIGINT;
