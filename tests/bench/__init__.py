"""The benchmark: what a span costs the application and the loader, beside what the machine does without us.

python -m tests.bench [section...] [--short] [--json FILE]

It asserts nothing about speed: it prints. Floors are measured in the same run, so that ratios hold on any machine.
Figures are CPU time, medians of interleaved repeats; `best` is the fastest repeat, for comparing commits on a busy
machine. A section is a module with `lines(scale)` and an entry in `__main__.SECTIONS`.
"""
