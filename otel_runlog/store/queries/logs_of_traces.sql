-- Records from before schema 2 have no place, which is their trace.
SELECT * FROM stored_logs WHERE coalesce(place, trace_id) IN (SELECT unnest($trace_ids));
