SELECT source, received, stored, duplicate, conflict, superseded, id_reuse, rejected, dropped FROM books ORDER BY source;
