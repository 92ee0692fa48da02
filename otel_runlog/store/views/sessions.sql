-- Conversations: what their runs add up to. Replays cost nothing and are left out.
CREATE OR REPLACE VIEW sessions AS
SELECT
    session_id,
    min(user_id) AS user_id,
    count(*) AS run_count,
    min(started_at) AS started_at,
    max(finished_at) AS finished_at,
    CAST(sum(input_tokens) AS BIGINT) AS input_tokens,
    CAST(sum(output_tokens) AS BIGINT) AS output_tokens,
    CAST(sum(cost_usd) AS DECIMAL(18, 12)) AS cost_usd,
    CASE
        WHEN bool_and(cost_status = 'none') THEN 'none'
        WHEN bool_and(cost_status IN ('unpriced', 'none')) THEN 'unpriced'
        WHEN bool_or(cost_status IN ('unpriced', 'partial')) THEN 'partial'
        WHEN bool_and(cost_status IN ('reported', 'none')) THEN 'reported'
        WHEN bool_and(cost_status IN ('estimated', 'none')) THEN 'estimated'
        ELSE 'mixed'
    END AS cost_status
FROM (SELECT * REPLACE (coalesce(cost_status, 'unpriced') AS cost_status) FROM runs)
WHERE session_id IS NOT NULL AND cost_status <> 'replayed'
GROUP BY session_id;
