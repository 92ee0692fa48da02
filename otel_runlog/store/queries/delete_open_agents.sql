DELETE FROM open_agents WHERE run_id IN (SELECT unnest($run_ids));
