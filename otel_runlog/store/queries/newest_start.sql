-- Since when so many versions of runs started: one column of the last row groups tells it.
SELECT min(started_ns) FROM (SELECT started_ns FROM closed_runs ORDER BY started_ns DESC NULLS LAST LIMIT CAST($runs AS BIGINT));
