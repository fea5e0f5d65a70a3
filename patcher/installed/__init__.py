"""What is to be patched: interpreters, distributions with their RECORD, releases of the index."""
