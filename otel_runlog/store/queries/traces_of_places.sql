SELECT DISTINCT trace_id FROM trace_places WHERE place IN (SELECT unnest($places));
