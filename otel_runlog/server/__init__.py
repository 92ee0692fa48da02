"""The out-of-process door: OTLP in over gRPC and HTTP, the journal, the loader, SQL out, and spans on to backends."""
