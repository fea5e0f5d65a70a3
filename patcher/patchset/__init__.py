"""A folder -> `Patchset`; names and options -> those that are requested: where they come from, and whom to trust."""
