"""The semantic patch engine: text in, splices out. It knows no file, package or command line."""
