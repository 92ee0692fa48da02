-- Every version ever given to the run, and whether it still counts.
SELECT c.version, s.run_id IS NULL AS counts
FROM closed_runs AS c
LEFT JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
WHERE c.run_id = $run_id;
