-- All versions of the picked captures.
DELETE FROM stored_captures WHERE run_id IN (SELECT run_id FROM gone_captures);
DELETE FROM captured_refs WHERE run_id IN (SELECT run_id FROM gone_captures);
DELETE FROM superseded_captures WHERE run_id IN (SELECT run_id FROM gone_captures);
