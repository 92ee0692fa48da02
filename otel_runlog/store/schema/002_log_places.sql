-- Log records of one agent that name no trace are kept together under a name of their own (log_events.place_of).
ALTER TABLE stored_logs ADD COLUMN place VARCHAR;
