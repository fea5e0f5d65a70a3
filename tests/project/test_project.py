"""What a project asks for is read strictly, and every problem is told at once."""

import sys

import pytest

from patcher.display.console import exit_code
from patcher.errors import Location, SitepatchError
from patcher.patchset.selection import ProjectEntry, chosen, split_pin, with_settings
from patcher.project.request import Project, parse_entry, read_project
from tests.command import DDP, DDP_VERSION, DYNAMO, sitepatch
from tests.places import patchset


def test_a_request_is_a_name_its_options_and_whether_its_package_may_be_absent():
    assert parse_entry(f"{DDP} params=10 optional", Location("f", 1)) == ProjectEntry(DDP, ("params=10",), True, Location("f", 1))
    assert parse_entry(f"{DDP} title='a b'", Location("f", 1)).settings == ("title=a b",)


@pytest.mark.parametrize(
    ("text", "found"),
    [("", "nothing"), ("a=1", "a=1"), (f"{DDP} optinal", '"optinal"'), (f"{DDP} x='a", "no closing quotation"), (f"{DDP} =1", "=1")],
)
def test_a_request_that_cannot_be_read_says_what_was_found(text, found):
    with pytest.raises(SitepatchError) as caught:
        parse_entry(text, Location("requirements.txt", 3))
    assert caught.value.message.startswith("requirements.txt:3: found ")
    assert found in caught.value.message
    assert "expected" in caught.value.message
    with pytest.raises(SitepatchError, match=r"^p\.toml: tool\.x: found "):
        parse_entry(text, Location("p.toml"), "tool.x")


def write(folder, text):
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_project_names_its_patchsets_and_where_they_lie(tmp_path):
    path = write(tmp_path, f'[tool.sitepatch]\npatch-dir = "patches"\npatchsets = ["{DDP} params=10", "{DYNAMO}"]\n')
    (tmp_path / "patches").mkdir()
    project = read_project(path)
    assert [entry.name for entry in project.entries] == [DDP, DYNAMO]
    assert project.patch_dirs == (str(tmp_path / "patches"),)
    assert project.entries[0].origin == f"{path}: tool.sitepatch.patchsets[0]"


def test_a_project_without_the_table_is_another_thing_than_one_that_asks_for_nothing(tmp_path):
    assert read_project(write(tmp_path, "[project]\nname = 'x'\n")) is None
    assert read_project(write(tmp_path, "[tool.sitepatch]\n")) == Project((), ())


def test_all_that_is_wrong_with_the_table_is_reported_at_once(tmp_path):
    path = write(tmp_path, '[tool.sitepatch]\npatchset = 1\npatch-dir = 1\npatchsets = ["a=1", ""]\n')
    with pytest.raises(SitepatchError) as caught:
        read_project(path)
    lines = caught.value.message.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "tool.sitepatch.patchset", "tool.sitepatch.patch-dir", "tool.sitepatch.patchsets[0]", "tool.sitepatch.patchsets[1]",
    ]  # fmt: skip
    assert exit_code(caught.value) == 2


def entry(text, file="a", line=1):
    """What a text asks for at this place."""
    return parse_entry(text, Location(file, line))


def test_requests_become_patchsets_with_their_options():
    requested, notes = chosen([entry(f"{DDP} params=10"), entry(DDP, "b", 1), entry(DYNAMO, "b", 2)], ())
    assert [(item.patchset.name, item.options.get("params")) for item in requested] == [(DDP, 10), (DYNAMO, None)]
    assert notes == []


def test_one_request_with_two_values_of_an_option_is_reported():
    with pytest.raises(SitepatchError, match=r"^a:1: mmengine-ddp-debug params=2: a:1 has params=1$"):
        chosen([entry(f"{DDP} params=1 params=2")], ())


def test_one_that_is_requested_twice_is_optional_only_where_both_say_so():
    requested, _ = chosen([entry(f"{DDP} optional"), entry(f"{DDP} optional"), entry(f"{DYNAMO} optional"), entry(DYNAMO)], ())
    assert [(item.patchset.name, item.optional) for item in requested] == [(DDP, True), (DYNAMO, False)]


def test_set_replaces_the_value_of_an_entry_and_leaves_the_others():
    entries = [ProjectEntry("a", ("x=1", "y=2=3")), ProjectEntry("b", ("x=1",))]
    assert [entry.settings for entry in with_settings(entries, ["a.x=5", "a.z=6"])] == [("x=5", "y=2=3", "z=6"), ("x=1",)]
    assert with_settings(entries[:1], ["x=5"]) == with_settings(entries[:1], ["a.x=5"]) == [ProjectEntry("a", ("x=5", "y=2=3"))]


@pytest.mark.parametrize(
    ("names", "text", "message"),
    [
        ("a", "x", "--set x: found no \"=\", expected NAME.option=VALUE; its options: sitepatch show a"),
        ("ab", "x", "--set x: found no \"=\", expected NAME.option=VALUE; its options: sitepatch show NAME"),
        ("ab", "x=1", "--set x=1: 2 patchsets are named, expected NAME.option=VALUE; its options: sitepatch show NAME"),
        ("a", "b.x=1", "--set b.x=1: found \"b\", a patchset that is not named, expected one of a"),
    ],
)
def test_a_value_that_is_set_for_no_option_says_how_one_is_written(names, text, message):
    with pytest.raises(SitepatchError) as caught:
        with_settings([ProjectEntry(name) for name in names], [text])
    assert caught.value.message == message


def test_what_is_behind_the_first_dot_is_the_option():
    assert with_settings([ProjectEntry("a")], ["a.b.c=1"]) == [ProjectEntry("a", ("b.c=1",))]


def test_what_cannot_be_had_is_reported_with_the_place_that_asks_for_it():
    with pytest.raises(SitepatchError) as caught:
        chosen([entry(f"{DDP} params=1"), entry(f"{DDP} params=2", "b", 7), entry("nothing-such", "c", 1)], ())
    assert "b:7: mmengine-ddp-debug params=2: a:1 has params=1" in caught.value.message
    assert caught.value.location == Location("b", 7)
    assert 'c:1: there is no patchset "nothing-such"' in caught.value.message
    with pytest.raises(SitepatchError, match=r"^c:1: there is no patchset") as caught:
        chosen([entry("nothing-such", "c", 1)], ())
    assert caught.value.location == Location("c", 1)


def test_the_folders_of_patchsets_are_listed_once_however_many_a_project_asks_for(tmp_path):
    names = [f"p{number}" for number in range(20)]
    for name in names:
        patchset(tmp_path, name=name)
    mine = str(tmp_path / "mine")
    listings = []

    def hook(event, words):
        if event in ("os.listdir", "os.scandir") and str(words[0]) == mine:
            listings.append(event)

    def listings_for(names):
        listings.clear()
        requested, _ = chosen([ProjectEntry(name) for name in names], [mine])
        assert [item.patchset.name for item in requested] == names
        return len(listings)

    sys.addaudithook(hook)
    assert listings_for(names) == listings_for(names[:1]) > 0


PINS = [  # what a request says, and the name and the version that it asks for; None: it is refused
    (DDP, (DDP, "")),
    (f"{DDP}==4.1", (DDP, "4.1")),
    (f"{DDP}==4.1+musa", (DDP, "4.1+musa")),
    (f"{DDP}==", None),
    (f"{DDP}=4.1", None),
    (f"{DDP}===4.1", None),
    (f"{DDP}==4.*", None),
    ("==4.1", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "pin"), PINS)
def test_a_request_may_pin_one_version(text, pin):
    assert split_pin(text) == pin


def test_a_version_is_compared_as_versions_are():
    for text in (f"{DDP}=={DDP_VERSION}", f"{DDP}=={DDP_VERSION}.0", f"{DDP}==v{DDP_VERSION}"):
        requested, _ = chosen([entry(text)], ())
        assert requested[0].patchset.version == DDP_VERSION


def test_each_pin_of_another_version_is_named_with_the_version_that_was_found():
    with pytest.raises(SitepatchError) as caught:
        chosen([entry(f"{DDP}==1.0"), entry(f"{DDP}==2.0", "b", 7)], ())
    problem = f"{DDP}: found version {DDP_VERSION} (built in), expected {DDP}"
    assert caught.value.message == f"a:1: {problem}==1.0\nb:7: {problem}==2.0"


def test_a_chinese_message_says_in_chinese_that_a_patchset_is_built_in(tmp_path):
    ended = sitepatch("check", f"{DDP}==1.0", "--target", tmp_path, cwd=tmp_path, SITEPATCH_LANG="zh")
    assert ended.code == 1 and f"{DDP}：找到的版本是 {DDP_VERSION}（内置）" in ended.err
