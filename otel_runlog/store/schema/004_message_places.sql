-- Content once: a message of a span stands in the span's attributes, and `messages` says where (store/places.py).
-- `stored_messages` keeps what was stored before; `contents` has the texts of those and of log records' messages.
ALTER TABLE stored_spans ADD COLUMN messages VARCHAR USING COMPRESSION zstd;
ALTER TABLE open_spans ADD COLUMN messages VARCHAR;
