UPDATE open_steps AS o
SET
    cost_usd = r.cost_usd,
    estimated_cost_usd = r.estimated_cost_usd,
    cost_status = r.cost_status,
    price_table = r.price_table,
    price_version = r.price_version,
    notes = r.notes
FROM repriced_steps AS r
WHERE o.rowid = r.step_row AND r.is_open;
