"""`report`: what is applied, for other tools, and on many hosts."""
