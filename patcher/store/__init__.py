"""The store: the only writer into a site directory. Standard library alone; a hook carries it."""
