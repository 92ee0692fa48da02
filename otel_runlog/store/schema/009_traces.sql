-- Where the loader looks before it looks at spans and steps: which traces have spans, when these started, and which runs
-- have steps in other traces than their own. A trace has a row for each commit that brought spans of it.
CREATE TABLE stored_traces (trace_id VARCHAR NOT NULL, first_ns BIGINT, last_ns BIGINT);
INSERT INTO stored_traces
SELECT trace_id, min(started_ns) AS first_ns, max(started_ns) AS last_ns FROM stored_spans GROUP BY trace_id ORDER BY first_ns, trace_id;
CREATE TABLE closed_traces (run_id VARCHAR NOT NULL, version BIGINT NOT NULL, trace_id VARCHAR NOT NULL);
INSERT INTO closed_traces
SELECT DISTINCT s.run_id, s.version, s.trace_id
FROM closed_steps AS s
LEFT JOIN closed_runs AS r ON s.run_id = r.run_id AND s.version = r.version
WHERE s.trace_id IS NOT NULL AND s.trace_id IS DISTINCT FROM r.trace_id;
-- Traces that are stored and that projecting failed for: a fault of this package, which `doctor` tells of.
CREATE TABLE unprojected_traces (trace_id VARCHAR NOT NULL);
-- When an open run was last loaded anew.
ALTER TABLE open_runs ADD COLUMN touched_ns BIGINT;
