-- v1.5.0: tools on the 1.5 line can read the file too.
ATTACH $1 AS store (TYPE duckdb, STORAGE_VERSION 'v1.5.0', ROW_GROUP_SIZE 16384);
