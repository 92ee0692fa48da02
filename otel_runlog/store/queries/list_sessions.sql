SELECT session_id, user_id, run_count, started_at, finished_at, input_tokens, output_tokens, cost_usd, cost_status
FROM sessions
ORDER BY started_at DESC NULLS LAST, session_id;
