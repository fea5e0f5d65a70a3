"""Where a pattern matches in code."""
