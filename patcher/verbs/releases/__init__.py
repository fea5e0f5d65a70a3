"""`check`: whether patchsets fit, here and on every release of their targets."""
