-- What the next deletes will take.
SELECT
    (SELECT count(*) FROM closed_runs AS c SEMI JOIN going AS g ON c.run_id = g.run_id AND c.version = g.version) AS versions,
    (SELECT count(*) FROM closed_steps AS c SEMI JOIN going AS g ON c.run_id = g.run_id AND c.version = g.version) AS steps,
    (SELECT count(*) FROM going) AS marks;
