-- What `reprice` changed: one row for each step and time. The view `cost_changes` is what people read.
CREATE TABLE stored_cost_changes (
    repriced_ns BIGINT NOT NULL,
    run_id VARCHAR NOT NULL,
    trace_id VARCHAR,
    span_id VARCHAR NOT NULL,
    model VARCHAR,
    cost_before DECIMAL(18, 12),
    cost_after DECIMAL(18, 12),
    estimate_before DECIMAL(18, 12),
    estimate_after DECIMAL(18, 12),
    cost_status_before VARCHAR,
    cost_status_after VARCHAR,
    price_table_before VARCHAR,
    price_version_before VARCHAR,
    price_table_after VARCHAR,
    price_version_after VARCHAR
);
