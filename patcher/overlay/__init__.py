"""Patched source that is imported in place of the files of a site directory."""
