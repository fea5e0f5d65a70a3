"""The text of a `.spatch` -> the two sides of each hunk as trees."""
