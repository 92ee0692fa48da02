-- How many captures and reports of replays no longer count.
SELECT (SELECT count(*) FROM superseded_captures) + (SELECT count(*) FROM superseded_divergences) AS marks;
