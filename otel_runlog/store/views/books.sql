-- Where every received span went, by source: received = stored + duplicate + conflict + superseded + rejected + dropped.
CREATE OR REPLACE VIEW books AS
WITH sums AS (
    SELECT source, counter, reason, CAST(sum(spans) AS BIGINT) AS spans
    FROM book_entries
    GROUP BY source, counter, reason
)
SELECT
    source,
    CAST(coalesce(sum(spans) FILTER (WHERE counter = 'received'), 0) AS BIGINT) AS received,
    CAST(coalesce(sum(spans) FILTER (WHERE counter = 'stored'), 0) AS BIGINT) AS stored,
    CAST(coalesce(sum(spans) FILTER (WHERE counter = 'duplicate'), 0) AS BIGINT) AS duplicate,
    CAST(coalesce(sum(spans) FILTER (WHERE counter = 'conflict'), 0) AS BIGINT) AS conflict,
    CAST(coalesce(sum(spans) FILTER (WHERE counter = 'superseded'), 0) AS BIGINT) AS superseded,
    CAST(coalesce(sum(spans) FILTER (WHERE counter = 'id_reuse'), 0) AS BIGINT) AS id_reuse,
    coalesce(
        to_json(map_from_entries(list((reason, spans) ORDER BY reason) FILTER (WHERE counter = 'rejected'))), CAST('{}' AS JSON)
    ) AS rejected,
    coalesce(
        to_json(map_from_entries(list((reason, spans) ORDER BY reason) FILTER (WHERE counter = 'dropped'))), CAST('{}' AS JSON)
    ) AS dropped
FROM sums
GROUP BY source;
