-- Results of evaluations, each with what it is about: the step it stands on, else the call whose response it names, else
-- the run of its trace. What an evaluator's own span names is not the evaluator. Nothing is guessed where several fit.
CREATE OR REPLACE VIEW scores AS
WITH newest AS (
    SELECT c.run_id, c.trace_id, c.span_id, c.kind, c.response_id, c.counted
    FROM closed_steps AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT run_id, trace_id, span_id, kind, response_id, counted FROM open_steps
),
candidates AS (
    SELECT s.mark, 1 AS rank, n.run_id, n.span_id
    FROM stored_scores AS s
    JOIN newest AS n ON s.trace_id = n.trace_id AND s.span_id = n.span_id
    WHERE n.kind <> 'evaluator' OR s.response_id IS NULL
    UNION ALL
    SELECT s.mark, CASE WHEN s.trace_id = n.trace_id THEN 2 ELSE 3 END, n.run_id, n.span_id
    FROM stored_scores AS s
    JOIN newest AS n ON s.response_id = n.response_id
    WHERE n.counted
    UNION ALL
    SELECT s.mark, 4, n.run_id, s.span_id
    FROM stored_scores AS s
    JOIN newest AS n ON s.trace_id = n.trace_id
),
best AS (
    SELECT mark, min(rank) AS rank
    FROM candidates
    GROUP BY mark
),
places AS (
    SELECT c.mark, min(c.run_id) AS run_id, min(c.span_id) AS span_id
    FROM candidates AS c
    JOIN best AS b ON c.mark = b.mark AND c.rank = b.rank
    GROUP BY c.mark
    HAVING count(DISTINCT c.run_id) = 1
)
SELECT
    any_value(p.run_id) AS run_id,
    coalesce(any_value(p.span_id), any_value(s.span_id)) AS span_id,
    any_value(s.name) AS name,
    any_value(s.value) AS value,
    any_value(s.label) AS label,
    any_value(s.source) AS source,
    any_value(s.explanation) AS explanation,
    make_timestamptz(any_value(s.time_ns) // 1000) AS scored_at
FROM stored_scores AS s
LEFT JOIN places AS p ON s.mark = p.mark
GROUP BY s.mark;
