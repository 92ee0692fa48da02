-- Segments that were loaded whole and are gone cannot be loaded again: their names are never given twice. Ingested files
-- are called otherwise, and can come again.
DELETE FROM positions
WHERE segment NOT IN (SELECT unnest(CAST($there AS VARCHAR[])))
    AND segment IN (
        SELECT segment FROM positions WHERE ends_with(segment, '.seg') GROUP BY segment HAVING bool_or(ended)
    );
