"""What holds for every page of `--html`: `whole(text)` reads one as a browser would and complains where it is not so."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from urllib.parse import unquote

VOID = ("br", "input", "link", "meta")


class Reader(HTMLParser):
    """Elements (tag, attributes) in order, and the text of each tag; every one is closed where it has to be."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), (tag, attributes)
        self.elements.append((tag, dict(attributes)))
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        for tag in self.open:
            self.texts.setdefault(tag, []).append(data)

    def text(self, tag):
        """All text in elements of this tag."""
        return "".join(self.texts.get(tag, []))


def whole(page):
    """The page, read: each element closed, links lead somewhere, nothing runs or is fetched but what its policy names."""
    text = page.decode("utf-8")
    assert [char for char in text if not char.isprintable() and char not in "\n\t"] == []
    read = Reader(text)
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in read.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "action")], (tag, attributes)
        where = attributes.get("href", "#").partition("#")
        if where[0]:
            assert tag == "link" or (attributes["rel"] == "noreferrer noopener" and re.match("https?://", where[0])), attributes
        else:
            assert not where[2] or unquote(where[2]) in ids, attributes
    policy = next(each["content"] for _, each in read.elements if each.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        texts = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digests = [f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in texts]
        assert digests == ([rules.pop(rule)] if rule in rules else [])
    assert rules == {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    assert "@import" not in text and "url(" not in text
    return read
