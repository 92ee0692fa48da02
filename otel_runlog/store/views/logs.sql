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
    coalesce(attributes, CAST('{}' AS JSON)) AS attributes,
    scope_name,
    scope_version,
    service,
    coalesce(resource, CAST('{}' AS JSON)) AS resource,
    flags,
    dropped_attributes_count,
    make_timestamptz(received_ns // 1000) AS received_at,
    coalesce(repairs, []) AS notes
FROM stored_logs;
