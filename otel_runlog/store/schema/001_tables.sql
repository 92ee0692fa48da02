-- Tables are appended to; the views are what people read. The names of tables say in which state their rows are:
-- stored_* and closed_* are final, open_* are replaced by each load turn (the only rows that are ever deleted).
-- What depends on the run carries a version; `superseded` names the versions that no longer count.
-- Times are nanoseconds since the epoch. Everything here also exists in DuckLake, except USING COMPRESSION. A column
-- with zstd takes a block a row group (7 bytes a span) also where nothing is in it, so only long texts have it.

CREATE TABLE meta (key VARCHAR NOT NULL, value VARCHAR NOT NULL);
INSERT INTO meta VALUES ('schema_version', '0'), ('views_version', '0'), ('quiet_time_s', '900');

CREATE TABLE stored_spans (
    trace_id VARCHAR NOT NULL,
    span_id VARCHAR NOT NULL,
    parent_span_id VARCHAR,
    trace_state VARCHAR,
    flags BIGINT,
    name VARCHAR,
    kind BIGINT,
    started_ns BIGINT,
    ended_ns BIGINT,
    status_code BIGINT,
    status_message VARCHAR,
    scope_name VARCHAR,
    scope_version VARCHAR,
    service VARCHAR,
    resource JSON,
    attributes JSON USING COMPRESSION zstd,
    events JSON USING COMPRESSION zstd,
    links JSON,
    dropped_attributes_count BIGINT,
    dropped_events_count BIGINT,
    dropped_links_count BIGINT,
    start_record BOOLEAN,
    repairs VARCHAR[],
    digest BLOB,
    received_ns BIGINT,
    source VARCHAR
);

-- Spans that have started and not ended: a start record goes when its end comes.
CREATE TABLE open_spans AS SELECT * FROM stored_spans LIMIT 0;

CREATE TABLE stored_logs (
    time_ns BIGINT,
    observed_ns BIGINT,
    trace_id VARCHAR,
    span_id VARCHAR,
    event_name VARCHAR,
    severity_number BIGINT,
    severity_text VARCHAR,
    body JSON USING COMPRESSION zstd,
    attributes JSON USING COMPRESSION zstd,
    scope_name VARCHAR,
    scope_version VARCHAR,
    service VARCHAR,
    resource JSON,
    flags BIGINT,
    dropped_attributes_count BIGINT,
    repairs VARCHAR[],
    received_ns BIGINT
);

-- A message's text stands in `contents`, once for each distinct text. Since schema 4 the spans' own stand in spans.
CREATE TABLE stored_messages (
    trace_id VARCHAR NOT NULL,
    span_id VARCHAR NOT NULL,
    started_ns BIGINT,
    direction VARCHAR,
    position BIGINT,
    role VARCHAR,
    content_id VARCHAR
);

-- Messages that log records told: of a call's direction the smallest origin counts, in order of place and position.
CREATE TABLE logged_messages (
    trace_id VARCHAR NOT NULL,
    span_id VARCHAR NOT NULL,
    direction VARCHAR,
    origin VARCHAR,
    place VARCHAR,
    position BIGINT,
    role VARCHAR,
    content_id VARCHAR
);

-- Results of evaluations as they were told; a mark may stand twice, it is one result.
CREATE TABLE stored_scores (
    mark VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    source VARCHAR,
    trace_id VARCHAR,
    span_id VARCHAR,
    response_id VARCHAR,
    value DOUBLE,
    label VARCHAR,
    explanation VARCHAR USING COMPRESSION zstd,
    time_ns BIGINT
);

CREATE TABLE contents (content_id VARCHAR NOT NULL, text VARCHAR USING COMPRESSION zstd, bytes BIGINT);

CREATE TABLE closed_runs (
    run_id VARCHAR NOT NULL,
    version BIGINT NOT NULL,
    native_run_id VARCHAR,
    trace_id VARCHAR,
    root_span_id VARCHAR,
    session_id VARCHAR,
    user_id VARCHAR,
    service VARCHAR,
    service_version VARCHAR,
    environment VARCHAR,
    agent VARCHAR,
    status VARCHAR,
    status_message VARCHAR,
    started_ns BIGINT,
    finished_ns BIGINT,
    last_ns BIGINT,
    step_count BIGINT,
    llm_calls BIGINT,
    tool_calls BIGINT,
    error_count BIGINT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cache_read_tokens BIGINT,
    cache_write_tokens BIGINT,
    reasoning_tokens BIGINT,
    cache_write_5m_tokens BIGINT,
    cache_write_1h_tokens BIGINT,
    usage_missing_calls BIGINT,
    cost_usd DECIMAL(18, 12),
    reported_cost_usd DECIMAL(18, 12),
    estimated_cost_usd DECIMAL(18, 12),
    cost_status VARCHAR,
    price_table VARCHAR,
    price_version VARCHAR,
    unpriced_calls BIGINT,
    unpriced_models VARCHAR[],
    models VARCHAR[],
    input VARCHAR USING COMPRESSION zstd,
    output VARCHAR USING COMPRESSION zstd,
    tags VARCHAR[],
    labels JSON,
    attributes JSON USING COMPRESSION zstd,
    complete BOOLEAN,
    warnings VARCHAR[],
    notes VARCHAR[],
    launch_id VARCHAR,
    replay_of VARCHAR,
    fork_of VARCHAR,
    fork_at BIGINT
);

CREATE TABLE closed_steps (
    run_id VARCHAR NOT NULL,
    version BIGINT NOT NULL,
    step_index BIGINT,
    call_index BIGINT,
    trace_id VARCHAR,
    span_id VARCHAR,
    parent_span_id VARCHAR,
    kind VARCHAR,
    name VARCHAR,
    agent VARCHAR,
    provider VARCHAR,
    model VARCHAR,
    request_model VARCHAR,
    response_model VARCHAR,
    response_id VARCHAR,
    status VARCHAR,
    error_type VARCHAR,
    error_message VARCHAR,
    started_ns BIGINT,
    ended_ns BIGINT,
    time_to_first_token_ms DOUBLE,
    streaming BOOLEAN,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cache_read_tokens BIGINT,
    cache_write_tokens BIGINT,
    reasoning_tokens BIGINT,
    cache_write_5m_tokens BIGINT,
    cache_write_1h_tokens BIGINT,
    usage_source VARCHAR,
    cost_usd DECIMAL(18, 12),
    reported_cost_usd DECIMAL(18, 12),
    estimated_cost_usd DECIMAL(18, 12),
    cost_status VARCHAR,
    price_table VARCHAR,
    price_version VARCHAR,
    service_tier VARCHAR,
    counted BOOLEAN,
    duplicate_of VARCHAR,
    tool_name VARCHAR,
    tool_call_id VARCHAR,
    finish_reason VARCHAR,
    params JSON,
    convention VARCHAR,
    scope VARCHAR, -- the instrumentation scope: tells two views of one call apart
    content VARCHAR,
    warnings VARCHAR[],
    notes VARCHAR[]
);

CREATE TABLE closed_agents (
    run_id VARCHAR NOT NULL,
    version BIGINT NOT NULL,
    position BIGINT,
    agent VARCHAR,
    parent_agent VARCHAR,
    depth BIGINT,
    calls BIGINT,
    own_input_tokens BIGINT,
    own_output_tokens BIGINT,
    own_cache_read_tokens BIGINT,
    own_cache_write_tokens BIGINT,
    own_reasoning_tokens BIGINT,
    own_cache_write_5m_tokens BIGINT,
    own_cache_write_1h_tokens BIGINT,
    own_cost_usd DECIMAL(18, 12),
    inclusive_input_tokens BIGINT,
    inclusive_output_tokens BIGINT,
    inclusive_cache_read_tokens BIGINT,
    inclusive_cache_write_tokens BIGINT,
    inclusive_reasoning_tokens BIGINT,
    inclusive_cache_write_5m_tokens BIGINT,
    inclusive_cache_write_1h_tokens BIGINT,
    inclusive_cost_usd DECIMAL(18, 12)
);

CREATE TABLE open_runs AS SELECT * FROM closed_runs LIMIT 0;
CREATE TABLE open_steps AS SELECT * FROM closed_steps LIMIT 0;
CREATE TABLE open_agents AS SELECT * FROM closed_agents LIMIT 0;

CREATE TABLE superseded (run_id VARCHAR NOT NULL, version BIGINT NOT NULL);
CREATE TABLE run_aliases (old_run_id VARCHAR NOT NULL, run_id VARCHAR NOT NULL);

-- Deltas: a source's books are the sums over its rows.
CREATE TABLE book_entries (source VARCHAR NOT NULL, counter VARCHAR NOT NULL, reason VARCHAR, spans BIGINT NOT NULL);

-- How far each journal segment or ingested file is loaded: the furthest offset counts.
CREATE TABLE positions (segment VARCHAR NOT NULL, byte_offset BIGINT NOT NULL);
