-- Spans that lost attributes or events to the limits of their SDK.
SELECT service, count(*) AS number, CAST(NULL AS VARCHAR) AS example
FROM spans
WHERE dropped_attributes_count > 0 OR dropped_events_count > 0
GROUP BY service
ORDER BY number DESC;
