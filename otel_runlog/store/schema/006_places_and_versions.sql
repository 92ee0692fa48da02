-- Which traces have spans of the runs whose records are kept in a place (log_events.place_of); a pair may stand twice.
CREATE TABLE trace_places (place VARCHAR NOT NULL, trace_id VARCHAR NOT NULL);
-- Versions of spans that lost a conflict: they stay in `spans`, and their messages do not count.
CREATE TABLE outdone_spans (trace_id VARCHAR NOT NULL, span_id VARCHAR NOT NULL, digest BLOB NOT NULL);
