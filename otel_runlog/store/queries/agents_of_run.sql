-- The agents of one run, which stand with its start: few row groups are read.
SELECT * FROM agents
WHERE run_id = $run_id AND (started_ns = $started_ns OR started_ns IS NULL)
ORDER BY position;
