"""A folder -> `Patchset`; names and options -> the patchsets that are requested.

Where they come from, and whom to trust.
"""
