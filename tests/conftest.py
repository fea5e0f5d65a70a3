"""Shared by all tests: assertions in helper modules are explained like those in tests."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.semantic.helpers")
