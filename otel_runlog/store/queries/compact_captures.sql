-- Captures and reports of replays that were kept again since go, together with the marks that say so.
DELETE FROM stored_captures
WHERE (run_id, version) IN (SELECT (run_id, version) FROM superseded_captures);
DELETE FROM captured_refs
WHERE (run_id, version) IN (SELECT (run_id, version) FROM superseded_captures);
DELETE FROM stored_divergences
WHERE (replay_run_id, version) IN (SELECT (replay_run_id, version) FROM superseded_divergences);
DELETE FROM superseded_captures;
DELETE FROM superseded_divergences;
