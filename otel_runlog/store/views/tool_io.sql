-- The tool calls of captured runs. `source` says where the result was found: NULL, nobody recorded it.
CREATE OR REPLACE VIEW tool_io AS
WITH newest AS NOT MATERIALIZED (
    SELECT c.run_id, json_extract(c.capture, '$.tool_io[*]') AS entries
    FROM stored_captures AS c
    ANTI JOIN superseded_captures AS s ON c.run_id = s.run_id AND c.version = s.version
),
calls AS NOT MATERIALIZED (
    SELECT
        run_id,
        unnest(range(1, len(entries) + 1)) AS position,
        from_json(
            unnest(entries),
            '{"step_index": "BIGINT", "call_index": "BIGINT", "name": "VARCHAR", "arguments": "JSON", "result": "JSON",
              "error": "JSON", "source": "VARCHAR", "after_call": "BIGINT", "call_id": "VARCHAR"}'
        ) AS call
    FROM newest
)
SELECT
    run_id,
    call.step_index AS step_index,
    call.call_index AS call_index,
    call.name AS name,
    call.arguments AS arguments,
    call.result AS result,
    call.error AS error,
    call.source AS source,
    call.after_call AS after_call,
    call.call_id AS call_id,
    position
FROM calls;
