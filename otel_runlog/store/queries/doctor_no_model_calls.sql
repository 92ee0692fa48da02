-- Runs that ended well without a single model call: their model's client is not instrumented.
SELECT service, count(*) AS number, any_value(run_id) AS example
FROM runs
WHERE llm_calls = 0 AND status = 'completed'
GROUP BY service
ORDER BY number DESC;
