-- The parent links of all spans of the traces, of those that are no steps too; only the row groups of their time are read.
SELECT trace_id, span_id, parent_span_id
FROM stored_spans
WHERE parent_span_id IS NOT NULL
    AND trace_id IN (SELECT unnest($trace_ids))
    AND (started_ns BETWEEN $first_ns AND $last_ns OR started_ns IS NULL)
UNION
SELECT trace_id, span_id, parent_span_id
FROM open_spans
WHERE parent_span_id IS NOT NULL AND trace_id IN (SELECT unnest($trace_ids));
