"""The same for the commands that make, try and export patchsets."""
