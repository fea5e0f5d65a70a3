"""The verbs that make, try and hand on patchsets: edit, capture, import, update, new, lint, test, export."""
