-- The parent links of all spans in a run's traces, of those that are no steps too.
SELECT DISTINCT trace_id, span_id, parent_span_id
FROM spans
WHERE parent_span_id IS NOT NULL
    AND trace_id IN (SELECT trace_id FROM steps WHERE run_id = $run_id);
