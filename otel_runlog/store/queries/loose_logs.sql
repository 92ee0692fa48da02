-- Log records of an event that name no trace. The event's name stands in its column or among the attributes.
SELECT * FROM stored_logs
WHERE
    trace_id IS NULL AND time_ns BETWEEN $since_ns AND $until_ns
    AND (event_name = $event OR contains(CAST(attributes AS VARCHAR), $event));
