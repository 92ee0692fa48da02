-- What one batch changes, until it is committed. `step_row` is the row in closed_steps or, `is_open`, in open_steps.
CREATE OR REPLACE TEMP TABLE repriced_steps (
    is_open BOOLEAN,
    step_row BIGINT,
    cost_usd DECIMAL(18, 12),
    estimated_cost_usd DECIMAL(18, 12),
    cost_status VARCHAR,
    price_table VARCHAR,
    price_version VARCHAR,
    notes VARCHAR[]
);
CREATE OR REPLACE TEMP TABLE repriced_runs (
    is_open BOOLEAN,
    run_id VARCHAR,
    version BIGINT,
    cost_usd DECIMAL(18, 12),
    estimated_cost_usd DECIMAL(18, 12),
    cost_status VARCHAR,
    price_table VARCHAR,
    price_version VARCHAR,
    unpriced_calls BIGINT,
    unpriced_models VARCHAR[],
    notes VARCHAR[]
);
CREATE OR REPLACE TEMP TABLE repriced_agents (
    is_open BOOLEAN,
    agent_row BIGINT,
    own_cost_usd DECIMAL(18, 12),
    inclusive_cost_usd DECIMAL(18, 12)
);
CREATE OR REPLACE TEMP TABLE repriced_models (
    run_id VARCHAR,
    version BIGINT,
    day BIGINT,
    provider VARCHAR,
    model VARCHAR,
    cost_usd DECIMAL(18, 12),
    unpriced_calls BIGINT
);
