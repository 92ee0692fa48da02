-- The provider that most of a model's calls name.
SELECT provider
FROM llm_calls
WHERE $model IN (model, request_model) AND provider IS NOT NULL
GROUP BY provider
ORDER BY count(*) DESC, provider
LIMIT 1;
