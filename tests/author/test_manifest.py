"""A handwritten patchset.toml is changed only where necessary; comments, order and line ends stay."""

import pytest

from patcher.author.manifest import (
    with_imports,
    with_patch_files,
    with_variant,
    with_version,
    with_versions,
)

TEXT = """\
version = '1.0'  # raised by hand

[[variant]]
package = "demo"
versions   = "==1.0" # proven by hand
patches = [
    "a.spatch",  # first: b needs it
    "b.spatch",
]

[variant.options]
level = 1

# what is imported to verify it
[verify]
imports = ["demo.m"]
"""
ADDED = "[[variant]]\npackage = \"other\"\n"


def test_a_value_is_changed_in_its_line_alone():
    assert with_version(TEXT, "1.0.1") == TEXT.replace("'1.0'", '"1.0.1"')
    assert with_versions(TEXT, 0, "<2") == TEXT.replace('"==1.0"', '"<2"')
    assert with_imports(TEXT, ["demo.m", "demo.n"]) == TEXT.replace('"demo.m"', '"demo.m", "demo.n"')


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (["a", "b", "c"], ['"a.spatch",  # first: b needs it', '"b.spatch",', '"c.spatch",']),
        (["a", "c"], ['"a.spatch",  # first: b needs it', '"c.spatch",']),
        (["c", "a"], ['"c.spatch",', '"a.spatch",  # first: b needs it']),
        (["b", "a"], ['"b.spatch",', '"a.spatch",  # first: b needs it']),
    ],
)
def test_patches_that_stay_keep_their_comments_in_any_order(names, rows):
    lines = TEXT.split("\n")
    expected = "\n".join([*lines[:6], *(f"    {row}" for row in rows), *lines[8:]])
    assert with_patch_files(TEXT, 0, [f"{name}.spatch" for name in names]) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_variant_comes_below_the_last_one_and_above_the_comment_of_the_next_table(end):
    text, added = TEXT.replace("\n", end), ADDED.replace("\n", end)
    assert with_variant(text, ADDED) == text.replace(f"level = 1{end}", f"level = 1{end}{end}{added}")


@pytest.mark.parametrize("end", ["", "\n", "\n# the end\n"])
def test_a_variant_is_added_at_the_end(end):
    text = f'[[variant]]\npackage = "demo"{end}'
    assert with_variant(text, ADDED) == text + ("" if end else "\n") + "\n" + ADDED


def test_versions_are_changed_in_a_list_of_inline_tables():
    text = 'variant = [{ package = "demo", versions = "==1.0" }]  # one\n'
    assert with_versions(text, 0, "<2") == text.replace("==1.0", "<2")
