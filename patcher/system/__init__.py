"""What the operating system gives: reading with care, ownership, child processes, signals, the cache."""
