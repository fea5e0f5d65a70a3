"""Compile, import and probe what was changed in the target interpreter; roll back where that fails."""
