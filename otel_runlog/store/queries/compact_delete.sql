-- Versions that no longer count go together with the marks that say so. Rows are named by number: only their groups are read.
DELETE FROM closed_steps
WHERE rowid IN (SELECT c.rowid FROM closed_steps AS c JOIN going AS g ON c.run_id = g.run_id AND c.version = g.version);
DELETE FROM closed_agents
WHERE rowid IN (SELECT c.rowid FROM closed_agents AS c JOIN going AS g ON c.run_id = g.run_id AND c.version = g.version);
DELETE FROM closed_models
WHERE rowid IN (SELECT c.rowid FROM closed_models AS c JOIN going AS g ON c.run_id = g.run_id AND c.version = g.version);
DELETE FROM closed_traces
WHERE rowid IN (SELECT c.rowid FROM closed_traces AS c JOIN going AS g ON c.run_id = g.run_id AND c.version = g.version);
DELETE FROM closed_runs
WHERE rowid IN (SELECT c.rowid FROM closed_runs AS c JOIN going AS g ON c.run_id = g.run_id AND c.version = g.version);
DELETE FROM superseded
WHERE rowid IN (SELECT s.rowid FROM superseded AS s JOIN going AS g ON s.run_id = g.run_id AND s.version = g.version);
