-- Every log record as received.
CREATE OR REPLACE VIEW logs AS
SELECT
    trace_id,
    span_id,
    event_name,
    time_ns,
    observed_ns,
    make_timestamptz(time_ns // 1000) AS logged_at,
    make_timestamptz(observed_ns // 1000) AS observed_at,
    severity_number,
    severity_text,
    body,
    attributes,
    scope_name,
    scope_version,
    service,
    resource,
    flags,
    dropped_attributes_count,
    make_timestamptz(received_ns // 1000) AS received_at,
    repairs AS notes
FROM stored_logs;
