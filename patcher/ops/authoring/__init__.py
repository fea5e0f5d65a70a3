"""The verbs that write and export patchsets: edit, capture, import, update, export."""
