SELECT
    agent,
    count(*) AS runs,
    sum(calls) AS calls,
    sum(own_input_tokens) AS input_tokens,
    sum(own_output_tokens) AS output_tokens,
    sum(own_cost_usd) AS cost_usd
FROM agents
GROUP BY agent
ORDER BY cost_usd DESC;
