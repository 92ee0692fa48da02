-- Loaders that live on compare positions: another one makes them forget what they remember of traces.
INSERT INTO positions (segment, byte_offset)
SELECT 'gc', coalesce(max(byte_offset), 0) + 1 FROM positions WHERE segment = 'gc';
