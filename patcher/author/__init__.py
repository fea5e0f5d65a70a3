"""An edit of installed source -> a patchset: what was changed, generalised to hunks that hold for other releases too."""
