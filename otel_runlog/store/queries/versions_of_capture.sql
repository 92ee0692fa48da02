-- Every version in which the run's capture was ever kept, and whether it still counts.
SELECT c.version, s.run_id IS NULL AS counts
FROM stored_captures AS c
LEFT JOIN superseded_captures AS s ON c.run_id = s.run_id AND c.version = s.version
WHERE c.run_id = $run_id;
