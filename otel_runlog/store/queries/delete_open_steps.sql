DELETE FROM open_steps WHERE run_id IN (SELECT unnest($run_ids));
