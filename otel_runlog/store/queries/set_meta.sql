UPDATE meta SET value = $value WHERE key = $key;
