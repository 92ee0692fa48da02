-- All steps of the closed runs that changed, in a new version. Looked for by row, so that few row groups are read.
INSERT INTO closed_steps
SELECT c.* REPLACE (
    c.version + 1 AS version,
    CASE WHEN r.step_row IS NULL THEN c.cost_usd ELSE r.cost_usd END AS cost_usd,
    CASE WHEN r.step_row IS NULL THEN c.estimated_cost_usd ELSE r.estimated_cost_usd END AS estimated_cost_usd,
    CASE WHEN r.step_row IS NULL THEN c.cost_status ELSE r.cost_status END AS cost_status,
    CASE WHEN r.step_row IS NULL THEN c.price_table ELSE r.price_table END AS price_table,
    CASE WHEN r.step_row IS NULL THEN c.price_version ELSE r.price_version END AS price_version,
    CASE WHEN r.step_row IS NULL THEN c.notes ELSE r.notes END AS notes
)
FROM closed_steps AS c
LEFT JOIN (SELECT * FROM repriced_steps WHERE NOT is_open) AS r ON c.rowid = r.step_row
WHERE c.rowid IN (
    SELECT s.rowid
    FROM closed_steps AS s
    JOIN repriced_runs AS n ON s.run_id = n.run_id AND s.version = n.version AND NOT n.is_open
)
ORDER BY c.rowid;
