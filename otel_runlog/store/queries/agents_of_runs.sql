SELECT * FROM agents WHERE run_id IN (SELECT unnest($run_ids)) ORDER BY run_id, position;
