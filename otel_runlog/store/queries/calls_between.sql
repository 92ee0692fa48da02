-- Model calls of other traces, in the given time, that share a response id or an input count with the calls at hand.
-- Versions that no longer count are found too: they cost a look and change nothing.
WITH calls AS (
    SELECT * FROM closed_steps
    WHERE started_ns <= $ended_ns AND ended_ns >= $started_ns AND kind IN ('llm', 'embedding')
    UNION ALL
    SELECT * FROM open_steps
    WHERE started_ns <= $ended_ns AND ended_ns >= $started_ns AND kind IN ('llm', 'embedding')
)
SELECT *
FROM calls
WHERE
    ($lone OR parent_span_id IS NULL)
    AND (len($scopes) > 1 OR scope NOT IN (SELECT unnest($scopes)))
    AND trace_id NOT IN (SELECT unnest($trace_ids))
    AND (
        response_id IN (SELECT unnest($response_ids))
        OR input_tokens IN (SELECT unnest($input_tokens))
        OR ($failed AND status = 'failed')
    );
