USE store;
SET TimeZone = 'UTC';
