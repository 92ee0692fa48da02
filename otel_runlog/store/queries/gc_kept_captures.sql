-- The captures that count, the oldest first.
SELECT c.run_id, c.captured_ns, c.bytes, c.pinned
FROM stored_captures AS c
ANTI JOIN superseded_captures AS s ON c.run_id = s.run_id AND c.version = s.version
ORDER BY c.captured_ns, c.kept_ns, c.run_id;
