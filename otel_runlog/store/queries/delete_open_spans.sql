DELETE FROM open_spans WHERE (trace_id, span_id) IN (SELECT unnest($trace_ids), unnest($span_ids));
