"""What is written down of a URL that somebody names."""

import pytest

from patcher.text.secrets import without_credentials


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("https://x.org/a.patch", "https://x.org/a.patch"),
        ("https://me:secret@x.org/a.patch", "https://x.org/a.patch"),
        ("https://ghp_secret@x.org:8/a@b", "https://x.org:8/a@b"),
        ("git+ssh://git@x.org/a, from https://u:p@ss@y.org/", "git+ssh://x.org/a, from https://y.org/"),
        ("https://x.org/a?token=secret&line=3", "https://x.org/a?token=...&line=3"),
        ("https://x.org/a?line=3&X-Amz-Signature=secret#private_token=1", "https://x.org/a?line=3&X-Amz-Signature=...#private_token=..."),
        ("Zoe <z@x.org>, see /a/b@c", "Zoe <z@x.org>, see /a/b@c"),
    ],
)
def test_a_url_is_written_without_its_credentials(text, written):
    assert without_credentials(text) == written
