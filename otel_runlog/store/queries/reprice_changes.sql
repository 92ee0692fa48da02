-- The audit: every step that changes, as it is before the change and as it will be.
INSERT INTO stored_cost_changes
WITH before AS (
    SELECT false AS is_open, rowid AS step_row, * FROM closed_steps
    WHERE rowid IN (SELECT step_row FROM repriced_steps WHERE NOT is_open)
    UNION ALL
    SELECT true AS is_open, rowid AS step_row, * FROM open_steps
    WHERE rowid IN (SELECT step_row FROM repriced_steps WHERE is_open)
)
SELECT
    $repriced_ns AS repriced_ns,
    b.run_id,
    b.trace_id,
    b.span_id,
    b.model,
    b.cost_usd AS cost_before,
    r.cost_usd AS cost_after,
    b.estimated_cost_usd AS estimate_before,
    r.estimated_cost_usd AS estimate_after,
    b.cost_status AS cost_status_before,
    r.cost_status AS cost_status_after,
    b.price_table AS price_table_before,
    b.price_version AS price_version_before,
    r.price_table AS price_table_after,
    r.price_version AS price_version_after
FROM before AS b
JOIN repriced_steps AS r ON b.is_open = r.is_open AND b.step_row = r.step_row;
