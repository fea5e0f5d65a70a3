"""What came of a verb, as text, as JSON and as an exit code; the modules that several commands share."""
