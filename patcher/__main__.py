"""`python -m patcher` is `sitepatch`."""

from __future__ import annotations

from patcher.cli import main

main()
