SELECT
    segment, max(byte_offset), arg_max(next_sequence, byte_offset), coalesce(bool_or(ended), false), coalesce(bool_or(damaged), false)
FROM positions
GROUP BY segment;
