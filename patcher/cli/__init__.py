"""The commands for which no file of `patcher.verbs` is written yet."""
