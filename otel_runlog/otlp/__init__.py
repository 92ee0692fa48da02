"""OTLP requests, protobuf and JSON, to neutral spans and log records, and back."""
