"""The semantic patch engine: text in, splices out. Knows no file, no package and no command line."""
