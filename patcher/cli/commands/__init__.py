"""Commands that move into `patcher.verbs` next."""
