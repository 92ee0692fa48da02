SET max_vacuum_tasks = 0;
