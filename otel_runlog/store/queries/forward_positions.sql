SELECT segment, max(byte_offset) AS byte_offset, coalesce(bool_or(ended), false) AS ended
FROM positions
WHERE segment IN (SELECT unnest($segments))
GROUP BY segment;
