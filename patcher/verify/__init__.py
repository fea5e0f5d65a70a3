"""Compile, import and probe changed files in the target interpreter; roll back where that fails."""
