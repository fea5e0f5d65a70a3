"""An edit of installed source -> a patchset: hunks that hold for other releases, too."""
