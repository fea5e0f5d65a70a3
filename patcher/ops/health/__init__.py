"""`doctor`, and the ranks of `diagnose`: what is wrong with an environment, its store and its project; and left copies."""
