DELETE FROM stored_logs
WHERE coalesce(place, trace_id) IS NULL AND coalesce(time_ns, observed_ns, received_ns) < $before_ns;
