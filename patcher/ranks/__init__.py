"""Start a few ranks in the target interpreter: can they talk to each other? Nothing here knows of patching or of logs."""
