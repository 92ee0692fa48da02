-- The steps of one run that started in its time: few row groups are read. Steps whose start nobody knows are among them.
SELECT * FROM steps
WHERE run_id = $run_id AND (started_ns BETWEEN $started_ns AND $last_ns OR started_ns IS NULL)
ORDER BY step_index;
