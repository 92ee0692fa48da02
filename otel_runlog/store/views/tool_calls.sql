-- The counted tool calls, failed ones too.
CREATE OR REPLACE VIEW tool_calls AS
SELECT * FROM steps WHERE counted AND kind = 'tool';
