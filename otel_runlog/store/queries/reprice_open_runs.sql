UPDATE open_runs AS o
SET
    cost_usd = n.cost_usd,
    estimated_cost_usd = n.estimated_cost_usd,
    cost_status = n.cost_status,
    price_table = n.price_table,
    price_version = n.price_version,
    unpriced_calls = n.unpriced_calls,
    unpriced_models = n.unpriced_models,
    notes = n.notes
FROM repriced_runs AS n
WHERE o.run_id = n.run_id AND n.is_open;
