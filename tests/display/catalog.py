"""Reads the source of the Chinese catalogue."""

import json
import re

from tests.command import ROOT

CATALOG = ROOT / "patcher/locale/zh.po"


def entries():
    """The entries of the catalogue: {msgid: (comment, msgstr)}."""
    text = CATALOG.read_text(encoding="utf-8")
    matches = re.findall(r'^#\. (.*)\nmsgid (".*")\nmsgstr (".*")$', text, re.MULTILINE)
    return {json.loads(msgid): (comment, json.loads(msgstr)) for comment, msgid, msgstr in matches}
