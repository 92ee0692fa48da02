-- The agents of these runs, the root's first.
WITH wanted AS (
    SELECT unnest($run_ids) AS run_id, unnest($versions) AS version, unnest($opens) AS is_open
)
SELECT false AS is_open, c.rowid AS agent_row, c.run_id, c.agent, c.parent_agent, c.depth, c.position
FROM closed_agents AS c
JOIN wanted AS w ON c.run_id = w.run_id AND c.version = w.version AND NOT w.is_open
UNION ALL
SELECT true AS is_open, o.rowid AS agent_row, o.run_id, o.agent, o.parent_agent, o.depth, o.position
FROM open_agents AS o
JOIN wanted AS w ON o.run_id = w.run_id AND w.is_open
ORDER BY run_id, position;
