"""sitepatch: patch installed Python packages by syntax, and restore every change exactly."""

from __future__ import annotations

__version__ = "0.1.0"
