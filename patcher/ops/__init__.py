"""The verbs for which no file of `patcher.verbs` is written yet."""
