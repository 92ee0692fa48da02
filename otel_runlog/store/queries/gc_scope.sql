-- Of the runs that were picked, one that shares a trace with a run that is not old stays. Spans, records and messages of
-- a trace go with the last run that has steps in it.
CREATE OR REPLACE TEMP TABLE places AS
SELECT DISTINCT run_id, trace_id FROM closed_steps WHERE run_id IN (SELECT run_id FROM picked_runs)
UNION
SELECT DISTINCT run_id, trace_id FROM open_steps WHERE run_id IN (SELECT run_id FROM picked_runs)
UNION
SELECT DISTINCT run_id, trace_id FROM closed_runs WHERE run_id IN (SELECT run_id FROM picked_runs)
UNION
SELECT DISTINCT run_id, trace_id FROM open_runs WHERE run_id IN (SELECT run_id FROM picked_runs);
CREATE OR REPLACE TEMP TABLE others AS
SELECT DISTINCT run_id, trace_id
FROM (SELECT run_id, trace_id FROM closed_steps UNION ALL SELECT run_id, trace_id FROM open_steps)
WHERE trace_id IN (SELECT trace_id FROM places) AND run_id NOT IN (SELECT run_id FROM picked_runs);
CREATE OR REPLACE TEMP TABLE gone_runs AS
SELECT run_id FROM picked_runs
WHERE run_id NOT IN (
    SELECT p.run_id
    FROM places AS p
    JOIN others AS o ON p.trace_id = o.trace_id
    JOIN aged_runs AS a ON o.run_id = a.run_id AND NOT a.is_old
);
CREATE OR REPLACE TEMP TABLE gone_traces AS
SELECT DISTINCT p.trace_id
FROM places AS p
SEMI JOIN gone_runs AS g ON p.run_id = g.run_id
WHERE p.trace_id IS NOT NULL
    AND p.trace_id NOT IN (SELECT trace_id FROM others SEMI JOIN aged_runs ON others.run_id = aged_runs.run_id)
    AND p.trace_id NOT IN (SELECT trace_id FROM places WHERE run_id NOT IN (SELECT run_id FROM gone_runs) AND trace_id IS NOT NULL);
