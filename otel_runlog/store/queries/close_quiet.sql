-- The open runs that count_quiet.sql counts become closed runs that say the same.
CREATE OR REPLACE TEMP TABLE quiet_runs AS
SELECT o.run_id, max(s.ended_ns) AS last_end_ns
FROM open_runs AS o
LEFT JOIN open_steps AS s ON o.run_id = s.run_id
WHERE o.status = 'running'
    AND epoch_us(now()) - greatest(coalesce(o.last_ns, o.started_ns, 0), coalesce(o.touched_ns, 0)) // 1000
    >= (SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'quiet_time_s') * 1000000
GROUP BY o.run_id;
INSERT INTO closed_runs BY NAME
SELECT o.* EXCLUDE (touched_ns) REPLACE ('incomplete' AS status, false AS complete, coalesce(q.last_end_ns, o.finished_ns) AS finished_ns)
FROM open_runs AS o
JOIN quiet_runs AS q ON o.run_id = q.run_id;
INSERT INTO closed_agents BY NAME
SELECT o.* FROM open_agents AS o SEMI JOIN quiet_runs AS q ON o.run_id = q.run_id;
INSERT INTO closed_steps BY NAME
SELECT o.* FROM open_steps AS o SEMI JOIN quiet_runs AS q ON o.run_id = q.run_id;
INSERT INTO closed_models
SELECT
    o.run_id,
    o.version,
    o.started_ns // 86400000000000 AS day,
    o.provider,
    o.model,
    count(*),
    count(*) FILTER (WHERE o.status = 'failed'),
    count(*) FILTER (WHERE o.cost_status = 'unpriced'),
    CAST(sum(o.input_tokens) AS BIGINT),
    CAST(sum(o.output_tokens) AS BIGINT),
    CAST(sum(o.cost_usd) AS DECIMAL(18, 12)),
    list(o.ended_ns - o.started_ns) FILTER (WHERE o.ended_ns >= o.started_ns)
FROM open_steps AS o
SEMI JOIN quiet_runs AS q ON o.run_id = q.run_id
WHERE o.counted AND o.kind IN ('llm', 'embedding')
GROUP BY o.run_id, o.version, day, o.provider, o.model;
INSERT INTO closed_traces
SELECT DISTINCT s.run_id, s.version, s.trace_id
FROM open_steps AS s
JOIN open_runs AS o ON s.run_id = o.run_id
SEMI JOIN quiet_runs AS q ON s.run_id = q.run_id
WHERE s.trace_id IS NOT NULL AND s.trace_id IS DISTINCT FROM o.trace_id;
DELETE FROM open_runs WHERE run_id IN (SELECT run_id FROM quiet_runs);
DELETE FROM open_steps WHERE run_id IN (SELECT run_id FROM quiet_runs);
DELETE FROM open_agents WHERE run_id IN (SELECT run_id FROM quiet_runs);
