"""Reads the facts of an environment, once, and has the planner decide on them. Writes nothing."""
