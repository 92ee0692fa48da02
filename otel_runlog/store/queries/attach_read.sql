ATTACH $1 AS store (TYPE duckdb, READ_ONLY);
