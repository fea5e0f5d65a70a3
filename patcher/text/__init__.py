"""Text for users: widths, hostile characters made visible, which lines differ."""
