-- What replays runs without their spans (captures/keeping.py): a row for each time that a run's capture was kept. `capture`
-- is the document byte for byte, the other columns are taken from it. `superseded_captures` names the rows that no longer
-- count, as a later one of the same run was kept.
CREATE TABLE stored_captures (
    run_id VARCHAR NOT NULL,
    version BIGINT NOT NULL,
    captured_ns BIGINT NOT NULL,
    kept_ns BIGINT NOT NULL,
    schema VARCHAR NOT NULL,
    completeness VARCHAR,
    llm_calls BIGINT,
    tool_calls BIGINT,
    bytes BIGINT NOT NULL,
    pinned BOOLEAN NOT NULL,
    model_version VARCHAR,
    seed BIGINT,
    memory_ref VARCHAR,
    price_table VARCHAR,
    price_version VARCHAR,
    capture VARCHAR NOT NULL USING COMPRESSION zstd
);
-- What the entries of a document's llm_io were sent and answered, as places in its `contents`, all from 1: there each says
-- only what it adds to an earlier one, and a view would have to follow that through all captures.
CREATE TABLE captured_refs (
    run_id VARCHAR NOT NULL,
    version BIGINT NOT NULL,
    position BIGINT NOT NULL,
    turns BIGINT[],
    tools BIGINT[],
    answer BIGINT
);
CREATE TABLE superseded_captures (run_id VARCHAR NOT NULL, version BIGINT NOT NULL);

-- Where replays differ from what was recorded, in the order in which it was seen. A report that is kept again replaces
-- the one before.
CREATE TABLE stored_divergences (
    replay_run_id VARCHAR NOT NULL,
    version BIGINT NOT NULL,
    position BIGINT NOT NULL,
    run_id VARCHAR NOT NULL,
    call_index BIGINT,
    kind VARCHAR NOT NULL,
    path VARCHAR,
    recorded JSON USING COMPRESSION zstd,
    got JSON USING COMPRESSION zstd,
    resolution VARCHAR,
    nearest BIGINT,
    lane VARCHAR,
    cause VARCHAR,
    detail VARCHAR
);
CREATE TABLE superseded_divergences (replay_run_id VARCHAR NOT NULL, version BIGINT NOT NULL);
