SELECT * FROM steps WHERE run_id IN (SELECT unnest($run_ids)) ORDER BY run_id, step_index;
