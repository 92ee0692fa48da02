-- The next old runs after the cursor.
CREATE OR REPLACE TEMP TABLE picked_runs AS
SELECT run_id, at_ns FROM aged_runs
WHERE is_old AND (at_ns, run_id) > ($at_ns, $run_id)
ORDER BY at_ns, run_id
LIMIT $limit;
