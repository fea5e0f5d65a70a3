"""The logs of all ranks, read and classified: log -> runs -> conclusions -> table, page. Nothing here knows of patching."""
