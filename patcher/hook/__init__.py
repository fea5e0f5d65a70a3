"""The hook: a small distribution of a project's own that applies its patchsets again after every install. Opt-in."""
