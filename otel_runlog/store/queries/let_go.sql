USE memory;
DETACH store;
