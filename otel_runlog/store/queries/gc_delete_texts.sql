-- Texts that no message names any more.
DELETE FROM contents
WHERE content_id NOT IN (SELECT content_id FROM stored_messages WHERE content_id IS NOT NULL)
    AND content_id NOT IN (SELECT content_id FROM logged_messages WHERE content_id IS NOT NULL);
