USE memory;
