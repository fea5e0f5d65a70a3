"""`doctor`: what is wrong with an environment, its store and its project, and copies that editors and people left."""
