"""Facts -> a plan: decides everything, reads nothing, writes nothing."""
