-- Traces that projecting failed for, and that have no run to this day: a later version may have made one.
SELECT
    s.service,
    count(DISTINCT u.trace_id) AS number,
    CAST(NULL AS VARCHAR) AS example,
    list_sort(list(DISTINCT u.trace_id)) AS names
FROM unprojected_traces AS u
LEFT JOIN spans AS s ON u.trace_id = s.trace_id
ANTI JOIN steps AS t ON u.trace_id = t.trace_id
GROUP BY s.service
ORDER BY number DESC;
