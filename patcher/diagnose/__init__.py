"""The logs of all ranks, read and judged: log -> runs -> conclusions -> table, page. Nothing here knows of patching."""
