"""sitepatch: patch installed Python packages by syntax, and take every change back exactly."""

from __future__ import annotations

__version__ = "0.1.0"
