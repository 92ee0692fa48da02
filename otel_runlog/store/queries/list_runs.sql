-- Conditions on started_ns, and not on the time made of it: row groups outside are not read.
SELECT * FROM runs
WHERE ($run_ids IS NULL OR run_id IN (SELECT unnest(CAST($run_ids AS VARCHAR[]))))
    AND ($from_ns IS NULL OR started_ns >= $from_ns)
    AND ($agent IS NULL OR agent = $agent)
    AND ($status IS NULL OR status = $status)
    AND ($session_id IS NULL OR session_id = $session_id)
    AND ($labels IS NULL OR json_contains(labels, CAST($labels AS JSON)))
    AND ($since IS NULL OR started_ns >= epoch_us(CAST($since AS TIMESTAMPTZ)) * 1000)
    AND ($until IS NULL OR started_ns < epoch_us(CAST($until AS TIMESTAMPTZ)) * 1000)
ORDER BY
    CASE WHEN $sort = 'cost' THEN cost_usd END DESC NULLS LAST,
    CASE WHEN $sort = 'tokens' THEN total_tokens END DESC NULLS LAST,
    CASE WHEN $sort = 'duration' THEN duration_ms END DESC NULLS LAST,
    CASE WHEN $sort = 'errors' THEN error_count END DESC NULLS LAST,
    started_ns DESC NULLS LAST,
    run_id
LIMIT CAST($limit AS BIGINT) OFFSET CAST($offset AS BIGINT);
