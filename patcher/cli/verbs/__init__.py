"""What each command does, in a module of its name: call `ops`, then write text or JSON; each returns the exit code."""
