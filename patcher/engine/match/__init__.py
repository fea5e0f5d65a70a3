"""Where a pattern stands in code."""
