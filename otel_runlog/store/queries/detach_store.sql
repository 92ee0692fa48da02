DETACH store;
