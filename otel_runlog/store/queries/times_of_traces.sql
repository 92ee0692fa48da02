-- Between which times the stored spans of the traces started.
SELECT min(first_ns), max(last_ns) FROM stored_traces WHERE trace_id IN (SELECT unnest($trace_ids));
