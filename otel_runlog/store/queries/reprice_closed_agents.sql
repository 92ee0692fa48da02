-- The agents of the closed runs that changed, in a new version.
INSERT INTO closed_agents
SELECT c.* REPLACE (c.version + 1 AS version, r.own_cost_usd AS own_cost_usd, r.inclusive_cost_usd AS inclusive_cost_usd)
FROM closed_agents AS c
JOIN repriced_agents AS r ON c.rowid = r.agent_row AND NOT r.is_open;
