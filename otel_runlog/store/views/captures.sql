-- The captures that are kept, of each run the one that was kept last. `capture` is the document that `export` writes.
CREATE OR REPLACE VIEW captures AS
SELECT
    c.run_id,
    make_timestamptz(c.captured_ns // 1000) AS captured_at,
    c.schema,
    c.completeness,
    c.llm_calls,
    c.tool_calls,
    c.bytes,
    c.pinned,
    c.model_version,
    c.seed,
    c.memory_ref,
    c.price_table,
    c.capture,
    c.price_version,
    make_timestamptz(c.kept_ns // 1000) AS kept_at,
    c.version
FROM stored_captures AS c
ANTI JOIN superseded_captures AS s ON c.run_id = s.run_id AND c.version = s.version;
