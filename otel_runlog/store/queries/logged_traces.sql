SELECT DISTINCT coalesce(place, trace_id) FROM stored_logs
WHERE coalesce(place, trace_id) IN (SELECT unnest($trace_ids));
