"""An edit -> hunks: taken apart, each piece in the most general form that still makes it, and only it."""
