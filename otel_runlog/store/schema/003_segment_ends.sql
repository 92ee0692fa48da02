-- What a loader must know of a segment that another one has begun to load: see batch.Position.
ALTER TABLE positions ADD COLUMN next_sequence BIGINT;
ALTER TABLE positions ADD COLUMN ended BOOLEAN;
ALTER TABLE positions ADD COLUMN damaged BOOLEAN;
