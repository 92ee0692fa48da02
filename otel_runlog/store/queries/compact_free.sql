-- Bytes inside the file that are used again before it grows.
SELECT CAST(free_blocks * block_size AS BIGINT) FROM pragma_database_size() WHERE database_name = current_database();
