"""One function a verb."""
