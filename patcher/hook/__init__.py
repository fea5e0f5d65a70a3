"""The hook: a small distribution of a project's own that keeps its patchsets applied. Opt-in."""
