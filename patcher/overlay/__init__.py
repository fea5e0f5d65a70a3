"""Patched source that is imported in place of what stands in the site directory, in which nothing is written."""
