"""Compile, import and probe files with a patch in the target interpreter, before they are written."""
