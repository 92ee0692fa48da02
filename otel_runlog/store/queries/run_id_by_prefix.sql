-- The runs a name may mean: their own id first, then the ids they had before. An exact id stands for itself.
WITH RECURSIVE renamed AS (
    SELECT old_run_id, run_id FROM run_aliases WHERE starts_with(old_run_id, $name)
    UNION
    SELECT r.old_run_id, a.run_id FROM renamed AS r JOIN run_aliases AS a ON r.run_id = a.old_run_id
),
candidates AS (
    SELECT run_id, run_id = $name AS is_exact, false AS is_alias FROM runs WHERE starts_with(run_id, $name)
    UNION
    SELECT r.run_id, r.old_run_id = $name AS is_exact, true AS is_alias
    FROM renamed AS r SEMI JOIN runs ON r.run_id = runs.run_id
)
SELECT run_id, is_exact
FROM candidates
ORDER BY is_exact DESC, is_alias, run_id;
