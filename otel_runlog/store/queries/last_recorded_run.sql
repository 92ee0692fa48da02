-- The newest run that is no replay; one that went another way than what it replays is a run of its own.
SELECT run_id FROM runs WHERE replay_of IS NULL OR fork_of IS NOT NULL ORDER BY started_ns DESC NULLS LAST LIMIT 1;
