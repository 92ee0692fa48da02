"""Code generated from proto/, never edited; proto/README.md says how it is made."""
