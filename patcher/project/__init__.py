"""What a project asks for: pyproject.toml, requirements files, sitepatch.lock."""
