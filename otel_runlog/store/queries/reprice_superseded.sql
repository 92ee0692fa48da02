INSERT INTO superseded SELECT run_id, version FROM repriced_runs WHERE NOT is_open;
