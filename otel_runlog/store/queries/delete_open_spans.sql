DELETE FROM open_spans
WHERE (trace_id, span_id, coalesce(started_ns, 0)) IN (
    SELECT unnest($trace_ids), unnest($span_ids), unnest($starts_ns)
);
