-- The runs whose spans say on their resource that they are of a replay: the one of the replay's own id first, then the
-- largest.
SELECT s.run_id
FROM steps AS s
JOIN spans AS p ON p.trace_id = s.trace_id AND p.span_id = s.span_id
WHERE
    p.started_ns >= $since_ns
    AND s.started_ns >= $since_ns
    AND json_extract_string(p.resource, '$."runlog.run.id"') = $replay_run_id
GROUP BY s.run_id
ORDER BY s.run_id = $replay_run_id DESC, count(*) DESC, min(s.started_ns);
