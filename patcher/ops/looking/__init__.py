"""`list` and `show`: the patchsets there are; and those that make a difference."""
