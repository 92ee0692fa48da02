-- Claude Code that sends its log records and no spans.
SELECT l.service, count(*) AS number, CAST(NULL AS VARCHAR) AS example
FROM logs AS l
WHERE starts_with(l.scope_name, 'com.anthropic.claude_code')
    AND NOT EXISTS (SELECT 1 FROM spans AS s WHERE starts_with(s.scope_name, 'com.anthropic.claude_code'))
GROUP BY l.service
ORDER BY number DESC;
