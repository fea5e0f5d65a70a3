"""Diffs as others write them -> files before and after."""
