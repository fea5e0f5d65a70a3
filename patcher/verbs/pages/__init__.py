"""The pages of `--html`: each a pure function from what a verb found to bytes."""
