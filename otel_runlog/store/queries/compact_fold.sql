-- Books and positions as sums and maxima, as the views and the loader read them.
CREATE OR REPLACE TEMP TABLE folded_books AS
SELECT source, counter, reason, CAST(sum(spans) AS BIGINT) AS spans FROM book_entries GROUP BY source, counter, reason;
CREATE OR REPLACE TEMP TABLE folded_positions AS
SELECT
    segment,
    max(byte_offset) AS byte_offset,
    arg_max(next_sequence, byte_offset) AS next_sequence,
    bool_or(ended) AS ended,
    bool_or(damaged) AS damaged
FROM positions
GROUP BY segment;
CREATE OR REPLACE TEMP TABLE folded_aliases AS SELECT DISTINCT old_run_id, run_id FROM run_aliases;
DELETE FROM book_entries;
DELETE FROM positions;
DELETE FROM run_aliases;
INSERT INTO book_entries SELECT source, counter, reason, spans FROM folded_books ORDER BY ALL;
INSERT INTO positions BY NAME SELECT * FROM folded_positions ORDER BY segment;
INSERT INTO run_aliases SELECT old_run_id, run_id FROM folded_aliases ORDER BY ALL;
