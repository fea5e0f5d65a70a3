"""What the commands do: a module for those that need the same, loaded when one of them is run."""
