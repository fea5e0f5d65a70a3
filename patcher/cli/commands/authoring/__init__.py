"""The commands that make, try and hand on patchsets."""
