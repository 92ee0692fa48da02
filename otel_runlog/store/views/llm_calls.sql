-- The counted model calls, failed ones too.
CREATE OR REPLACE VIEW llm_calls AS
SELECT * FROM steps WHERE counted AND kind IN ('llm', 'embedding');
