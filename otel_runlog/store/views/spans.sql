-- Every stored span as received, and the start records of spans that have not ended.
CREATE OR REPLACE VIEW spans AS
SELECT
    trace_id,
    span_id,
    parent_span_id,
    trace_state,
    flags,
    name,
    CASE kind
        WHEN 0 THEN 'unspecified'
        WHEN 1 THEN 'internal'
        WHEN 2 THEN 'server'
        WHEN 3 THEN 'client'
        WHEN 4 THEN 'producer'
        WHEN 5 THEN 'consumer'
        ELSE CAST(kind AS VARCHAR)
    END AS kind,
    started_ns,
    ended_ns,
    make_timestamptz(started_ns // 1000) AS started_at,
    make_timestamptz(ended_ns // 1000) AS finished_at,
    CASE status_code
        WHEN 0 THEN 'unset'
        WHEN 1 THEN 'ok'
        WHEN 2 THEN 'error'
        ELSE CAST(status_code AS VARCHAR)
    END AS status,
    status_message,
    scope_name,
    scope_version,
    service,
    coalesce(resource, CAST('{}' AS JSON)) AS resource,
    coalesce(attributes, CAST('{}' AS JSON)) AS attributes,
    coalesce(events, CAST('[]' AS JSON)) AS events,
    coalesce(links, CAST('[]' AS JSON)) AS links,
    dropped_attributes_count,
    dropped_events_count,
    dropped_links_count,
    make_timestamptz(received_ns // 1000) AS received_at,
    start_record,
    coalesce(repairs, []) AS notes,
    source
FROM (SELECT * FROM stored_spans UNION ALL SELECT * FROM open_spans);
