SELECT run_id, input, output FROM runs WHERE run_id IN (SELECT unnest(CAST($run_ids AS VARCHAR[])));
