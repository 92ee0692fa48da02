-- What went into and came out of each model call. What the call's span says wins over what log records say, for each
-- direction. A text of a span is read where it stands in the span's attributes (store/places.py), each value once.
CREATE OR REPLACE VIEW messages AS
WITH newest AS NOT MATERIALIZED (
    SELECT c.run_id, c.trace_id, c.span_id, c.started_ns, c.kind
    FROM closed_steps AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT run_id, trace_id, span_id, started_ns, kind FROM open_steps
),
carrying AS NOT MATERIALIZED (
    SELECT n.run_id, s.trace_id, s.span_id, s.attributes, s.messages
    FROM stored_spans AS s
    LEFT JOIN newest AS n
        ON s.trace_id = n.trace_id
        AND s.span_id = n.span_id
        AND (s.started_ns IS NULL OR n.started_ns IS NULL OR s.started_ns = n.started_ns)
    ANTI JOIN outdone_spans AS o ON s.trace_id = o.trace_id AND s.span_id = o.span_id AND s.digest = o.digest
    WHERE s.messages IS NOT NULL
),
carried AS NOT MATERIALIZED (
    SELECT
        run_id,
        trace_id,
        span_id,
        attributes,
        unnest(
            from_json(
                messages,
                '[{"k": "VARCHAR", "m": [{"d": "VARCHAR", "p": "BIGINT", "r": "VARCHAR", "s": "BIGINT", "l": "BIGINT",
                   "t": "VARCHAR"}]}]'
            )
        ) AS carrier
    FROM carrying
),
placed AS NOT MATERIALIZED (
    SELECT
        run_id,
        trace_id,
        span_id,
        json_extract_string(attributes, '/' || replace(replace(carrier.k, '~', '~0'), '/', '~1')) AS value,
        unnest(carrier.m) AS place
    FROM carried
),
directions AS (
    SELECT trace_id, span_id, direction FROM stored_messages
    UNION ALL
    SELECT s.trace_id, s.span_id, d.direction
    FROM stored_spans AS s
    SEMI JOIN logged_messages AS l ON s.trace_id = l.trace_id AND s.span_id = l.span_id
    JOIN (VALUES ('system'), ('input'), ('output'), ('tools')) AS d (direction)
        ON contains(s.messages, '"d":"' || d.direction || '"')
),
best AS (
    SELECT l.trace_id, l.span_id, l.direction, min(l.origin) AS origin
    FROM logged_messages AS l
    ANTI JOIN directions AS d ON l.trace_id = d.trace_id AND l.span_id = d.span_id AND l.direction = d.direction
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
texts AS (SELECT content_id, any_value(text) AS text FROM contents GROUP BY content_id),
found AS (
    SELECT
        run_id,
        span_id,
        place.d AS direction,
        place.p AS position,
        place.r AS role,
        CASE
            WHEN place.t IS NOT NULL THEN place.t
            WHEN place.s IS NULL THEN value
            ELSE json_extract_string('"' || substring(value, place.s, place.l) || '"', '$')
        END AS text
    FROM placed
    UNION ALL
    SELECT n.run_id, m.span_id, m.direction, m.position, m.role, t.text
    FROM stored_messages AS m
    LEFT JOIN newest AS n
        ON m.trace_id = n.trace_id
        AND m.span_id = n.span_id
        AND (m.started_ns IS NULL OR n.started_ns IS NULL OR m.started_ns = n.started_ns)
    LEFT JOIN texts AS t ON m.content_id = t.content_id
    UNION ALL
    SELECT n.run_id, l.span_id, l.direction, l.position, l.message.role, t.text
    FROM logged AS l
    JOIN newest AS n ON l.trace_id = n.trace_id AND l.span_id = n.span_id AND n.kind = 'llm'
    LEFT JOIN texts AS t ON l.message.content_id = t.content_id
)
SELECT run_id, span_id, direction, position, role, text, sha256(text) AS content_id, strlen(text) AS bytes FROM found;
