"""The command line: commands, text, JSON and HTML, exit codes. The only printer."""
