-- Which of the texts were stored lately: looked for in the newest rows only, so the cost stays the same as the table
-- grows; a text may stand twice.
SELECT content_id FROM contents
WHERE rowid >= (SELECT max(rowid) FROM contents) - $rows
    AND content_id IN (SELECT unnest($content_ids));
