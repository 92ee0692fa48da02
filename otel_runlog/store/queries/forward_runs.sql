-- The newest versions of closed runs that have a root in these traces, or a step in these traces and this time.
WITH named AS (
    SELECT run_id FROM closed_runs WHERE trace_id IN (SELECT unnest($trace_ids))
    UNION
    SELECT run_id FROM closed_steps
    WHERE started_ns BETWEEN $from_ns AND $to_ns AND trace_id IN (SELECT unnest($trace_ids))
)
SELECT
    c.run_id,
    c.version,
    c.trace_id,
    c.root_span_id,
    c.session_id,
    c.user_id,
    c.service,
    c.service_version,
    c.environment,
    c.agent,
    c.status,
    c.status_message,
    c.started_ns,
    c.finished_ns,
    c.step_count,
    c.llm_calls,
    c.tool_calls,
    c.error_count,
    c.input_tokens,
    c.output_tokens,
    c.cache_read_tokens,
    c.cache_write_tokens,
    c.reasoning_tokens,
    c.cost_usd,
    c.cost_status,
    c.complete
FROM closed_runs AS c
SEMI JOIN named AS n ON c.run_id = n.run_id
ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
ORDER BY c.finished_ns, c.run_id;
