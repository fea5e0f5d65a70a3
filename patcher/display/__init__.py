"""Everything that a person or a program reads: text, colours, tables, diffs, JSON, HTML. The only printer."""
