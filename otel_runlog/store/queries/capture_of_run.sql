SELECT capture, pinned FROM captures WHERE run_id = $run_id;
