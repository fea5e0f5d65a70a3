"""What is to be patched: interpreters, distributions and their RECORD, releases of the index. Reads only."""
