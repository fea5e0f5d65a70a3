"""Text for people: widths, hostile characters made visible, which lines differ."""
