-- The captures whose run a name may mean; the run itself may be gone. One that has another name now goes by that.
SELECT c.run_id, c.run_id = $name AS is_exact
FROM captures AS c
ANTI JOIN (
    SELECT a.old_run_id FROM run_aliases AS a SEMI JOIN runs AS r ON a.run_id = r.run_id
) AS renamed ON c.run_id = renamed.old_run_id
WHERE starts_with(c.run_id, $name);
