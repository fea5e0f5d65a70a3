"""The commands, a few a module. What is heavy is imported inside the command that needs it."""
