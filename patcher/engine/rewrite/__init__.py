"""A matched hunk -> edits of the text."""
