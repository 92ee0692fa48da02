"""A recorded run, run again: the model answers what it answered then, and every difference is told.

Only what passes a model or a tool door comes back. The clock, randomness, files and other network calls do not.
"""
