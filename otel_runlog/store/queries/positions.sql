SELECT segment, max(byte_offset) FROM positions GROUP BY segment;
