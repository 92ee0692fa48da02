SELECT at_ns, run_id FROM picked_runs ORDER BY at_ns DESC, run_id DESC LIMIT 1;
