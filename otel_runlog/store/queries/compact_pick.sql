CREATE OR REPLACE TEMP TABLE going AS SELECT run_id, version FROM superseded LIMIT $versions;
