-- The agents of every run: their own calls, and those of the agents below them as well (inclusive).
CREATE OR REPLACE VIEW agents AS
WITH newest AS (
    SELECT c.*
    FROM closed_agents AS c
    ANTI JOIN superseded AS s ON c.run_id = s.run_id AND c.version = s.version
    UNION ALL
    SELECT * FROM open_agents
)
SELECT
    run_id,
    agent,
    parent_agent,
    depth,
    calls,
    own_input_tokens,
    own_output_tokens,
    own_cost_usd,
    inclusive_input_tokens,
    inclusive_output_tokens,
    inclusive_cost_usd,
    position,
    own_cache_read_tokens,
    own_cache_write_tokens,
    own_reasoning_tokens,
    own_cache_write_5m_tokens,
    own_cache_write_1h_tokens,
    inclusive_cache_read_tokens,
    inclusive_cache_write_tokens,
    inclusive_reasoning_tokens,
    inclusive_cache_write_5m_tokens,
    inclusive_cache_write_1h_tokens,
    started_ns
FROM newest;
