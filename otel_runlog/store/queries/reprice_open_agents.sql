UPDATE open_agents AS o
SET own_cost_usd = r.own_cost_usd, inclusive_cost_usd = r.inclusive_cost_usd
FROM repriced_agents AS r
WHERE o.rowid = r.agent_row AND r.is_open;
