"""Facts and patchsets -> a plan: decides everything, writes nothing."""
