"""All that a person or a program reads: text, diffs, JSON, HTML; nothing else prints."""
