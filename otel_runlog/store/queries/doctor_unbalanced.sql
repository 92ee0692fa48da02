-- Sources whose books do not balance. Their reasons are JSON, so the entries are summed here.
SELECT source AS service, CAST(abs(sum(CASE WHEN counter = 'received' THEN spans ELSE -spans END)) AS BIGINT) AS number,
    CAST(NULL AS VARCHAR) AS example
FROM book_entries
WHERE counter <> 'id_reuse'
GROUP BY source
HAVING number <> 0;
