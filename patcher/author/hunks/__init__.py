"""An edit -> hunks: each piece of it in the most general form that makes it, and only it."""
