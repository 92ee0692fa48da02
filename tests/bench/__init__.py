"""The benchmark: what a span costs the application and the loader, beside what the machine does without us.

python -m tests.bench [section...] [--short] [--json FILE]

It asserts nothing about speed: it prints. Floors are measured in the same run, so that ratios hold on any machine.
"""
