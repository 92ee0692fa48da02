CREATE OR REPLACE TEMP TABLE gone_captures AS SELECT unnest(CAST($run_ids AS VARCHAR[])) AS run_id;
