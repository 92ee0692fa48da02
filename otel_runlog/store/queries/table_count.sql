SELECT count(*) FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal;
