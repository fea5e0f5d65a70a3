from collections.abc import Mapping

merged = Mapping
