"""What people and programs see: tables and trees for a terminal, plain text for a pipe, JSON and CSV for programs."""
