-- Where each replay differs from the run that it replayed, in the order in which that was seen. NULL: nothing stood there.
CREATE OR REPLACE VIEW divergences AS
SELECT
    d.replay_run_id,
    d.call_index,
    d.kind,
    d.path,
    d.recorded,
    d.got,
    d.resolution,
    d.nearest,
    d.lane,
    d.cause,
    d.detail,
    d.run_id,
    d.position
FROM stored_divergences AS d
ANTI JOIN superseded_divergences AS s ON d.replay_run_id = s.replay_run_id AND d.version = s.version;
