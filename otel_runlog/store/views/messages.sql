-- What went into and came out of each model call. A text may stand twice in `contents`: one row per message comes out.
-- What the call's span says wins over what log records say, for each direction.
CREATE OR REPLACE VIEW messages AS
WITH newest AS (
    SELECT c.run_id, c.trace_id, c.span_id, c.started_ns, c.kind
    FROM closed_steps AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT run_id, trace_id, span_id, started_ns, kind FROM open_steps
),
best AS (
    SELECT l.trace_id, l.span_id, l.direction, min(l.origin) AS origin
    FROM logged_messages AS l
    ANTI JOIN stored_messages AS m ON l.trace_id = m.trace_id AND l.span_id = m.span_id AND l.direction = m.direction
    GROUP BY l.trace_id, l.span_id, l.direction
),
told AS (
    SELECT
        l.trace_id,
        l.span_id,
        l.direction,
        list_sort(list(DISTINCT {
            'place': l.place, 'position': l.position, 'role': l.role, 'content_id': l.content_id
        })) AS messages
    FROM logged_messages AS l
    JOIN best AS b
        ON l.trace_id = b.trace_id AND l.span_id = b.span_id AND l.direction = b.direction AND l.origin = b.origin
    GROUP BY l.trace_id, l.span_id, l.direction
),
logged AS (
    SELECT trace_id, span_id, direction, unnest(messages) AS message, generate_subscripts(messages, 1) - 1 AS position
    FROM told
),
found AS (
    SELECT n.run_id, m.trace_id, m.span_id, m.direction, m.position, m.role, m.content_id
    FROM stored_messages AS m
    LEFT JOIN newest AS n
        ON m.trace_id = n.trace_id
        AND m.span_id = n.span_id
        AND (m.started_ns IS NULL OR n.started_ns IS NULL OR m.started_ns = n.started_ns)
    UNION ALL
    SELECT
        n.run_id,
        l.trace_id,
        l.span_id,
        l.direction,
        l.position,
        l.message.role,
        l.message.content_id
    FROM logged AS l
    JOIN newest AS n ON l.trace_id = n.trace_id AND l.span_id = n.span_id AND n.kind = 'llm'
)
SELECT
    f.run_id,
    f.span_id,
    f.direction,
    f.position,
    f.role,
    any_value(c.text) AS text,
    f.content_id,
    any_value(c.bytes) AS bytes
FROM found AS f
LEFT JOIN contents AS c ON f.content_id = c.content_id
GROUP BY f.run_id, f.trace_id, f.span_id, f.direction, f.position, f.role, f.content_id;
