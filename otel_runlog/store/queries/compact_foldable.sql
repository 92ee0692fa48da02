-- How many rows of books and positions say what fewer could.
SELECT
    (SELECT count(*) FROM book_entries) - (SELECT count(*) FROM (SELECT DISTINCT source, counter, reason FROM book_entries))
    + (SELECT count(*) FROM positions) - (SELECT count(DISTINCT segment) FROM positions)
    + (SELECT count(*) FROM run_aliases) - (SELECT count(*) FROM (SELECT DISTINCT old_run_id, run_id FROM run_aliases)) AS rows;
