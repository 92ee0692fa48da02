-- Every change that `reprice` made to the cost of a step, with the price table before and after. NULL: there was no price.
CREATE OR REPLACE VIEW cost_changes AS
SELECT
    make_timestamptz(repriced_ns // 1000) AS repriced_at,
    run_id,
    trace_id,
    span_id,
    model,
    cost_before,
    cost_after,
    estimate_before,
    estimate_after,
    cost_status_before,
    cost_status_after,
    price_table_before,
    price_version_before,
    price_table_after,
    price_version_after
FROM stored_cost_changes;
