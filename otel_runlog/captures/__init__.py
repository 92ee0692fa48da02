"""Captures: made from a run and its messages, written and read as one JSON document, kept in the store."""
