DELETE FROM open_runs WHERE run_id IN (SELECT unnest($run_ids));
