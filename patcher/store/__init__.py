"""The store: the only writer into a site directory."""
