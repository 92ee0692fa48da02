"""The command line: parsing only, each command calls one public function. Start-up imports what the command needs."""
