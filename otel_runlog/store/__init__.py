"""The store: one DuckDB file with tables to append to and views to read.

It knows tables, not spans: what goes in comes from the loader as a `Batch`, what comes out are rows of the views or the
words of `otel_runlog.model`. All SQL stands in `schema/`, `views/` and `queries/`. Importing this package imports no
duckdb; its modules `connection`, `writer`, `reader` and `duckdb_store` do.
"""
