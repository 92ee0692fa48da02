-- What went into and came out of each model call. A text may stand twice in `contents`: one row per message comes out.
CREATE OR REPLACE VIEW messages AS
WITH newest AS (
    SELECT c.run_id, c.trace_id, c.span_id, c.started_ns
    FROM closed_steps AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT run_id, trace_id, span_id, started_ns FROM open_steps
)
SELECT
    n.run_id,
    m.span_id,
    m.direction,
    m.position,
    m.role,
    any_value(c.text) AS text,
    m.content_id,
    any_value(c.bytes) AS bytes
FROM stored_messages AS m
LEFT JOIN newest AS n
    ON m.trace_id = n.trace_id
    AND m.span_id = n.span_id
    AND (m.started_ns IS NULL OR n.started_ns IS NULL OR m.started_ns = n.started_ns)
LEFT JOIN contents AS c ON m.content_id = c.content_id
GROUP BY n.run_id, m.trace_id, m.span_id, m.direction, m.position, m.role, m.content_id;
