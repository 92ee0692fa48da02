-- The captures whose run a name may mean; the run itself may be gone.
SELECT run_id, run_id = $name AS is_exact FROM captures WHERE starts_with(run_id, $name);
