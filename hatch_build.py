"""The README as a package index shows it: its links lead into the repository, as it is named by `Source` in [project.urls].

Without that there is nothing that they could lead to: the texts of the links remain.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class IndexReadme(MetadataHookInterface):
    """Fills in `readme`, which is dynamic."""

    def update(self, metadata):
        """Set the text of README.md, with links that hold elsewhere."""
        source = metadata.get("urls", {}).get("Source", "").rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        link = rf"[\1]({source}/blob/main/\2)" if source else r"\1"
        text = re.sub(r"\[([^\]]+)\]\((?!https?:)([^)]+)\)", link, text)
        metadata["readme"] = {"content-type": "text/markdown", "text": re.sub(r"^<!-- .* -->\n", "", text, flags=re.MULTILINE)}
