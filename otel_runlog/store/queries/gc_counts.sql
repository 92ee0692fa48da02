-- What the next deletes will take. Versions of a run are counted once.
SELECT
    (SELECT count(*) FROM gone_runs) AS runs,
    (
        SELECT count(*)
        FROM (
            SELECT c.run_id FROM closed_steps AS c ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
            UNION ALL
            SELECT run_id FROM open_steps
        )
        WHERE run_id IN (SELECT run_id FROM gone_runs)
    ) AS steps,
    (
        SELECT count(*) FROM (SELECT trace_id FROM stored_spans UNION ALL SELECT trace_id FROM open_spans)
        WHERE trace_id IN (SELECT trace_id FROM gone_traces)
    ) AS spans,
    (SELECT count(*) FROM stored_logs WHERE coalesce(place, trace_id) IN (SELECT trace_id FROM gone_traces)) AS logs,
    (
        SELECT CAST(coalesce(sum(messages), 0) AS BIGINT)
        FROM (
            SELECT len(json_extract(messages, '$[*].m[*]')) AS messages
            FROM stored_spans
            WHERE trace_id IN (SELECT trace_id FROM gone_traces)
            UNION ALL
            SELECT count(*) FROM stored_messages WHERE trace_id IN (SELECT trace_id FROM gone_traces)
            UNION ALL
            SELECT count(*) FROM logged_messages WHERE trace_id IN (SELECT trace_id FROM gone_traces)
        )
    ) AS messages;
