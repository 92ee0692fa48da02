-- What the calls of the closed runs that changed add up to by day and model, in a new version.
INSERT INTO closed_models
SELECT c.* REPLACE (c.version + 1 AS version, m.cost_usd AS cost_usd, m.unpriced_calls AS unpriced_calls)
FROM closed_models AS c
JOIN repriced_models AS m
    ON c.run_id = m.run_id
    AND c.version = m.version
    AND c.day IS NOT DISTINCT FROM m.day
    AND c.provider IS NOT DISTINCT FROM m.provider
    AND c.model IS NOT DISTINCT FROM m.model;
