"""What is written around a diff: who made it, why, where it comes from."""

import base64
import quopri

import pytest

from patcher.author.diffs.patchfile import read_head, read_patches, read_series

DIFF = "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
SHA = "0123456789abcdef0123456789abcdef01234567"
MAIL = f"""\
From {SHA} Mon Sep 17 00:00:00 2001
From: =?utf-8?q?Zo=C3=AB?= <z@example.com>
Date: Tue, 2 Jan 2024 23:10:00 +0100
Subject: [PATCH 1/2] Do not
 wait: forever
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit

Ranks hang where é is read.

Note: it is safe.
Signed-off-by: Zoë <z@example.com>
---
 m.py | 2 +-

diff --git a/m.py b/m.py
{DIFF}--{" "}
2.39.0

"""
BODY = "Ranks hang where é is read.\n\nNote: it is safe.\nSigned-off-by: Zoë <z@example.com>"
FROM_MAIL = {"origin": f"commit {SHA}", "author": "Zoë <z@example.com>", "last_update": "2024-01-02"}
DEP3 = f"""\
Description: Do not wait
 Ranks hang.
 .
 All of them:
   as code
Origin: upstream, https://example.com/1
Bug: https://example.com/2
Bug-Debian: https://bugs.debian.org/3
Forwarded: no
Author: Zoë <z@example.com>
Last-Update: 2024-01-02
Applied-Upstream: 1.3
Reviewed-by: somebody

More of it.
---
 m.py | 2 +-
--- m.py
+++ m.py
{DIFF.split("m.py", 2)[2][1:]}"""
FROM_DEP3 = {
    "origin": "upstream, https://example.com/1",
    "bug": "https://example.com/2, https://bugs.debian.org/3",
    "forwarded": "no",
    "author": "Zoë <z@example.com>",
    "last_update": "2024-01-02",
    "remove_when": "applied upstream: 1.3",
}
SHOWN = f"commit {SHA} (HEAD -> main)\nAuthor: Zoë <z@example.com>\nDate:   Tue Jan 2 23:10:00 2024 +0100\n\n    Do not wait\n\n    Ranks hang.\n\ndiff --git a/m.py b/m.py\n{DIFF}"


def coloured(line):
    return {"d": "\x1b[1m{}\x1b[m", "@": "\x1b[36m{}\x1b[m", "-": "\x1b[31m{}\x1b[m", "+": "\x1b[32m{}\x1b[m"}.get(line[:1], "{}").format(line)


@pytest.mark.parametrize("change", [coloured, "> {}".format, "> > {}".format, "    {}".format, "\t{}".format, "| {}".format])
@pytest.mark.parametrize("text", [DIFF, f"Do not wait\n\ndiff --git a/m.py b/m.py\n{DIFF}"])
def test_a_diff_is_read_as_people_paste_it(text, change):
    blank = text.replace("@@ -1 +1 @@", "@@ -1,3 +1,3 @@") + " \n y\n"
    (patch,), problems = read_patches("".join(f"{change(line).rstrip()}\n" for line in blank.splitlines()).encode())
    (expected,), _ = read_patches(blank.encode())
    assert not problems and expected.sections[0].hunks
    assert [section._replace(hunks=()) for section in patch.sections] == [section._replace(hunks=()) for section in expected.sections]
    assert [hunk.lines for hunk in patch.sections[0].hunks] == [hunk.lines for hunk in expected.sections[0].hunks]


@pytest.mark.parametrize(
    ("text", "subject", "prose", "provenance"),
    [
        (MAIL, "Do not wait: forever", BODY, FROM_MAIL),
        (MAIL.split("\n", 1)[1], "Do not wait: forever", BODY, {key: FROM_MAIL[key] for key in ("author", "last_update")}),
        (DEP3, "Do not wait", "Ranks hang.\n\nAll of them:\n  as code\n\nMore of it.", FROM_DEP3),
        (SHOWN, "Do not wait", "Ranks hang.", FROM_MAIL),
        (
            f"# HG changeset patch\n# User Zoë <z@example.com>\n# Date 1 0\n# Node ID {SHA}\n# Parent 0\nDo not wait\n\nRanks hang.\n\ndiff -r 0 m.py\n{DIFF}",
            "Do not wait", "Ranks hang.", {"origin": f"commit {SHA}", "author": "Zoë <z@example.com>"},
        ),
        (f"Note: it hangs.\n\nBug: none\nReally.\n{DIFF}", "Note: it hangs.", "Really.", {"bug": "none"}),
        (f"Index: m.py\n======\n{DIFF}", "", "", {}),
        (DIFF, "", "", {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_head_of_a_patch_is_read(text, subject, prose, provenance, end):
    (patch,), problems = read_patches(text.replace("\n", end).encode())
    assert problems == []
    assert (patch.subject, patch.prose, dict(patch.provenance)) == (subject, prose, provenance)
    assert [(each.path, len(each.hunks)) for each in patch.sections] == [("m.py", 1)]
    assert read_head(patch.head) == patch._replace(sections=())


def test_the_body_of_a_mail_is_decoded():
    head, body = MAIL.split("\n\n", 1)
    for name, encode in (("quoted-printable", quopri.encodestring), ("base64", base64.encodebytes)):
        mail = head.replace("8bit", name).encode() + b"\n\n" + encode(body.encode())
        (patch,), problems = read_patches(mail)
        assert (problems, patch.prose, len(patch.sections[0].hunks)) == ([], BODY, 1)
    (patch,), _ = read_patches(MAIL.replace("UTF-8", "windows-1251").replace("é", "ж").replace("ë", "e").encode("cp1251"))
    assert patch.prose == BODY.replace("é", "ж").replace("ë", "e")
    for charset in ("UTF-8", "no-such", "undefined", '"a\0b"'):
        (patch,), _ = read_patches(MAIL.replace("UTF-8", charset).encode("latin-1"))
        assert patch.prose == BODY
    (patch,), _ = read_patches(MAIL.replace("[PATCH 1/2] Do not", "=?undefined?q?Do_not?=").encode())
    assert patch.subject.startswith("=?undefined?q?Do_not?=")


def test_mails_of_a_series_are_patches_in_their_order():
    second = MAIL.replace("Zo=C3=AB", "Max").replace("1/2", "2/2").replace("Do not", "Do").replace("2 Jan", "3 Jan").replace("-x = 1\n+x = 2", "-x = 2\n+x = 3")
    cover = f"From {SHA} Mon Sep 17 00:00:00 2001\nFrom: Max <z@example.com>\nSubject: [PATCH 0/2] Both\n\nWhy both.\n\n-- \n2.39\n"
    patches, problems = read_patches((cover + MAIL + second).encode())
    assert problems == [] and [len(each.sections) for each in patches] == [0, 1, 1]
    broken = MAIL.replace("@@ -1 +1 @@", "@@ -1,9 +1 @@")
    _, problems = read_patches((broken + broken).encode())
    assert [each.line for each in problems] == [20, 20 + MAIL.count("\n")]


def test_a_series_lists_patches_in_order():
    assert read_series("# all\n\nfirst.patch\nsub/second.diff -p1 # why\n  third.patch\t-p0\n#gone.patch\n") == (["first.patch", "sub/second.diff", "third.patch"], [])
    assert [each.text for each in read_series("a.patch -R\nb.patch -p1 -R\n")[1]] == ["a.patch is to be applied in reverse (-R)", "b.patch is to be applied in reverse (-R)"]


def test_a_diff_redirected_by_powershell_is_read_like_any_other():
    assert read_patches(SHOWN.encode("utf-16")) == read_patches(SHOWN.encode("utf-8")) == read_patches(SHOWN.encode("utf-8-sig"))
