-- The steps of some spans. Their time goes with the ids: row groups outside are not read.
WITH newest AS (
    SELECT c.*
    FROM closed_steps AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    WHERE c.started_ns BETWEEN $from_ns AND $to_ns AND c.trace_id IN (SELECT unnest($trace_ids))
    UNION ALL
    SELECT * FROM open_steps
    WHERE started_ns BETWEEN $from_ns AND $to_ns AND trace_id IN (SELECT unnest($trace_ids))
)
SELECT
    trace_id,
    span_id,
    started_ns,
    run_id,
    kind,
    input_tokens,
    output_tokens,
    cache_read_tokens,
    cache_write_tokens,
    reasoning_tokens,
    CASE WHEN counted THEN cost_usd END AS cost_usd
FROM newest;
