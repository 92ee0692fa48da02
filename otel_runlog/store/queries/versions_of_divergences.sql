-- Every version of the replay's report, and whether it still counts.
SELECT DISTINCT d.version, s.replay_run_id IS NULL AS counts
FROM stored_divergences AS d
LEFT JOIN superseded_divergences AS s ON d.replay_run_id = s.replay_run_id AND d.version = s.version
WHERE d.replay_run_id = $replay_run_id;
