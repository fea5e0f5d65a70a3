"""The verbs that write, check and export patchsets: edit, capture, import, update, new, lint, test, export."""
