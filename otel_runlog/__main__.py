"""`python -m otel_runlog`: the command line."""

from otel_runlog.cli.main import main

if __name__ == "__main__":
    main(prog_name="otel-runlog")
