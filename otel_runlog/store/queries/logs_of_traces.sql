SELECT * FROM stored_logs WHERE trace_id IN (SELECT unnest($trace_ids));
