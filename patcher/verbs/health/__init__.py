"""The checks of `doctor`: what they look at and find, and what to do about it. Prints nothing."""
