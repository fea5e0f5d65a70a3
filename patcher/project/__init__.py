"""What a project asks for: pyproject.toml and requirements files."""
