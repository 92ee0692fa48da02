"""The faults that nothing may be lost under, made to happen to real processes, and what it cost.

python -m tests.faults [NAME...] [--short] [--json FILE] [--list]

Every application is a child process that writes spans through the processor and, each time `on_end` has returned, says
so in a side file that outlives it. Afterwards everything is loaded, and the store is compared with the side files: what
was acknowledged and is not there is lost, what is there twice is doubled, and the books must balance. A scenario is a
function in one of the modules kills, forks, loaders, hosts and disks, and an entry in `registry.SCENARIOS`.
"""
