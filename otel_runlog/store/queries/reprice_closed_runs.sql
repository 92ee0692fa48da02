-- The closed runs that changed, in a new version.
INSERT INTO closed_runs
SELECT c.* REPLACE (
    c.version + 1 AS version,
    n.cost_usd AS cost_usd,
    n.estimated_cost_usd AS estimated_cost_usd,
    n.cost_status AS cost_status,
    n.price_table AS price_table,
    n.price_version AS price_version,
    n.unpriced_calls AS unpriced_calls,
    n.unpriced_models AS unpriced_models,
    n.notes AS notes
)
FROM closed_runs AS c
JOIN repriced_runs AS n ON c.run_id = n.run_id AND c.version = n.version AND NOT n.is_open;
