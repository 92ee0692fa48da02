-- The captures that are kept under names that a run had before.
WITH RECURSIVE former AS (
    SELECT old_run_id AS run_id FROM run_aliases WHERE run_id = $run_id
    UNION
    SELECT a.old_run_id AS run_id FROM run_aliases AS a JOIN former AS f ON a.run_id = f.run_id
)
SELECT c.run_id, c.version, c.pinned
FROM captures AS c
SEMI JOIN former AS f ON c.run_id = f.run_id
WHERE c.run_id <> $run_id;
