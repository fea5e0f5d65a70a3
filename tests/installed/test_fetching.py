"""What an index can do wrong: parts that lie, wheels that are not what their RECORD says, an index that is down half-way."""

import hashlib
import io
import json
import os
import random
import socket
import struct
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from patcher.errors import SitepatchError, StoreError
from patcher.installed.index import Listing, NoWheel, Pip, WheelLink
from patcher.installed.releases import _members, fetch_release, fetching
from patcher.model import Requested
from patcher.patchset.manifest import load_patchset
from patcher.place import SILENT
from patcher.verbs.releases.against import check_releases
from patcher.verbs.releases.fetched import fetch_all, list_releases
from tests.index import Index, size_of, wheel
from tests.verbs.helpers import PLAIN, SHARE, files, write_patchset

pytestmark = pytest.mark.once
NAME = "demo-1.0-py3-none-any.whl"
LARGE = wheel("demo", "1.0", {SHARE: PLAIN, "demo/large.py": "#" * (5 << 20)})
INFO = "demo-1.0.dist-info"


@pytest.fixture
def index():
    served = Index()
    served.parts = []
    yield served
    served.close()


@pytest.fixture
def pip(index, monkeypatch, tmp_path):
    """The real pip, which knows of the index alone."""
    set_variables(monkeypatch, index.variables(tmp_path / "cache"))
    with Pip() as real:
        yield real


def set_variables(monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def fetched(pip, tmp_path, version="1.0"):
    return fetch_release(pip, "demo", version, [SHARE], pip.listing("demo"))


# parts of a wheel -----------------------------------------------------------------------------------------------------
def send(handler, code, data, part="", length=None):
    handler.send_response(code)
    if part:
        handler.send_header("Content-Range", part)
    handler.send_header("Content-Length", str(len(data) if length is None else length))
    handler.end_headers()
    handler.wfile.write(data)
    handler.close_connection = True


def answering(code, kind="text/html", body=b""):
    """What answers every request with this body."""

    def act(handler, data):
        handler.send_response(code)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return act


def reset(handler, *_):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


LIARS = {  # what answers for the bytes first to last of the wheel, of which the first one alone was asked for before
    "the whole as 200": lambda handler, data, first, last: send(handler, 200, data),
    "the whole as a part": lambda handler, data, first, last: send(handler, 206, data, f"bytes 0-{len(data) - 1}/{len(data)}"),
    "the whole as this part": lambda handler, data, first, last: send(handler, 206, data, f"bytes {first}-{last}/{len(data)}"),
    "other bytes": lambda handler, data, first, last: send(handler, 206, data[: last + 1 - first], f"bytes {first}-{last}/{len(data)}"),
    "another part": lambda handler, data, first, last: send(handler, 206, data[: last + 1 - first], f"bytes 0-{last - first}/{len(data)}"),
    "of another file": lambda handler, data, first, last: send(handler, 206, data[first : last + 1], f"bytes {first}-{last}/{len(data) + 1}"),
    "without Content-Range": lambda handler, data, first, last: send(handler, 206, data[first : last + 1]),
    "less than it says": lambda handler, data, first, last: send(handler, 206, data[first:last], f"bytes {first}-{last}/{len(data)}", last + 1 - first),
    "416": lambda handler, data, first, last: send(handler, 416, b"", f"bytes */{len(data)}"),
    "503": lambda handler, data, first, last: send(handler, 503, b"later"),
    "no HTTP": lambda handler, data, first, last: handler.wfile.write(b"hello\r\n\r\n"),
    "a reset": reset,
}


@pytest.mark.parametrize("liar", LIARS)
def test_where_a_part_is_not_what_was_asked_for_the_whole_wheel_is_fetched(index, pip, tmp_path, liar):
    sizes, whole = [], []

    def act(handler, data):
        if not handler.headers["Range"]:
            whole.append(NAME)
            send(handler, 200, data)
            return
        first, last = map(int, handler.headers["Range"][len("bytes=") :].split("-"))
        sizes.append(last + 1 - first)
        if last:
            LIARS[liar](handler, data, first, last)
        else:
            send(handler, 206, data[:1], f"bytes 0-0/{len(data)}")

    index.put("demo", NAME, LARGE)
    index.acts[NAME] = act
    assert (fetched(pip, tmp_path) / SHARE).read_text() == PLAIN and len(whole) == 1
    assert len(sizes) < 16 and sum(sizes) < 1 << 20


@pytest.mark.parametrize(("status", "size"), [(206, 1 << 60), (206, 0), (416, 10), (404, 10)])
def test_where_a_server_says_another_size_or_refuses_parts_the_whole_wheel_is_fetched(index, pip, tmp_path, status, size):
    def act(handler, data):
        if handler.headers["Range"]:
            send(handler, status, data[:5], f"bytes 0-0/{size}")
        else:
            send(handler, 200, data)

    index.put("demo", NAME, wheel("demo", "1.0", {SHARE: PLAIN}))
    index.acts[NAME] = act
    assert (fetched(pip, tmp_path) / SHARE).read_text() == PLAIN


# the hash that the index gives ----------------------------------------------------------------------------------------
def page_of(form, digest, metadata=""):
    """What answers with a page of the index: HTML as PEP 503 has it, JSON as PEP 691."""
    url = f"/files/demo/{NAME}"
    if form == "html":
        fragment = f"#sha256={digest}" if digest else ""
        attribute = f' data-core-metadata="sha256={metadata}"' if metadata else ""
        text = f'<!DOCTYPE html><html><body><a href="{url}{fragment}"{attribute}>{NAME}</a></body></html>'
        return answering(200, "text/html", text.encode())
    file = {
        "filename": NAME,
        "url": url,
        "hashes": {"sha256": digest} if digest else {},
        "core-metadata": {"sha256": metadata} if metadata else False,
    }
    text = json.dumps({"meta": {"api-version": "1.0"}, "name": "demo", "files": [file]})
    return answering(200, "application/vnd.pypi.simple.v1+json", text.encode())


@pytest.mark.parametrize("page", ["html", "json"])
@pytest.mark.parametrize("digest", ["right", "wrong", "none"])
@pytest.mark.parametrize("parts", [True, False])
def test_a_whole_wheel_is_held_against_the_hash_of_its_index(index, pip, tmp_path, page, digest, parts):
    data = wheel("demo", "1.0", {SHARE: PLAIN}) if parts else LARGE
    index.put("demo", NAME, data)
    index.parts = [] if parts else None
    index.acts["demo"] = page_of(page, {"right": hashlib.sha256(data).hexdigest(), "wrong": "0" * 64, "none": ""}[digest])
    if digest == "wrong":
        with pytest.raises(SitepatchError, match="is not the file that its index lists"):
            fetched(pip, tmp_path)
        assert not list((tmp_path / "cache").rglob("*.py"))
    else:
        assert (fetched(pip, tmp_path) / SHARE).read_text() == PLAIN
    assert len(index.fetched) == 1 + parts  # an index without parts has answered with the whole one at once


@pytest.mark.parametrize("page", ["html", "json"])
@pytest.mark.parametrize("digest", ["right", "wrong"])
def test_parts_of_a_wheel_are_held_against_the_hash_that_the_index_gives_for_its_metadata(index, pip, tmp_path, page, digest):
    index.put("demo", NAME, LARGE)
    with zipfile.ZipFile(io.BytesIO(LARGE)) as archive:
        metadata = hashlib.sha256(archive.read(f"{INFO}/METADATA")).hexdigest() if digest == "right" else "0" * 64
    index.acts["demo"] = page_of(page, "", metadata)
    if digest == "wrong":
        with pytest.raises(SitepatchError, match="its METADATA is not the one that its index lists"):
            fetched(pip, tmp_path)
        assert not list((tmp_path / "cache").rglob("*.py"))
    else:
        assert (fetched(pip, tmp_path) / SHARE).read_text() == PLAIN
        assert sum(map(size_of, index.parts)) < len(LARGE) / 10



# the directory of a large wheel ---------------------------------------------------------------------------------------
def wheel_with_a_long_directory(place):
    """A wheel of 12,000 empty files, one of 5 MB, and those that matter at this place among them."""
    matter = unpacked(wheel("demo", "1.0", {SHARE: PLAIN}))
    large = ("demo/large.bin", b"#" * (5 << 20))
    headers = [(f"demo/include/ATen/ops/{'x' * 30}_{number}.h", b"") for number in range(12000)]
    if place == "first":
        return packed([*matter, large, *headers])
    if place == "last":
        return packed([large, *headers, *matter])
    if place == "apart":
        return packed([matter[0], large, *headers, *matter[1:]])
    more_headers = [(f"{name}pp", b"") for name, _ in headers]
    return packed([large, *headers, *matter, *more_headers])


@pytest.mark.parametrize(("at", "most"), [("first", 300_000), ("last", 300_000), ("apart", 300_000), ("middle", 2_600_000)])
def test_of_a_long_directory_no_more_is_fetched_than_has_the_files(index, pip, tmp_path, at, most):
    index.put("demo", NAME, wheel_with_a_long_directory(at))
    folder = fetched(pip, tmp_path)
    assert (folder / SHARE).read_text() == PLAIN and (folder / INFO / "METADATA").is_file()
    assert sum(map(size_of, index.parts)) < most and index.connections == 1


# wheels that are not what they say ------------------------------------------------------------------------------------
def packed(members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method) as archive:
        warnings.simplefilter("ignore")  # a name twice
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def bomb(members):
    """An archive whose last member says that it has 300 MB."""
    data = packed(members, zipfile.ZIP_DEFLATED)
    at = data.rfind(b"PK\1\2") + 24
    return data[:at] + (300 << 20).to_bytes(4, "little") + data[at + 4 :]


def unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


SOUND = wheel("demo", "1.0", {SHARE: PLAIN})
WRONG = {
    "another text than RECORD has": (wheel("demo", "1.0", {SHARE: PLAIN}, spoil=[SHARE]), f"{SHARE} is not the file that its RECORD lists"),
    "a file that RECORD has and nobody else": (packed(one for one in unpacked(SOUND) if one[0] != SHARE), f"its RECORD lists {SHARE}, and it has no such file"),
    "no RECORD": (packed(one for one in unpacked(SOUND) if "RECORD" not in one[0]), "found 0 RECORD files in it"),
    "two RECORDs": (packed([*unpacked(SOUND), ("other-1.dist-info/RECORD", b"")]), "found 2 RECORD files in it"),
    "a RECORD with a name of 300 characters": (packed([("x" * 300 + ".dist-info/RECORD", b"")]), "found 0 RECORD files in it"),
    "no METADATA": (packed(one for one in unpacked(SOUND) if "METADATA" not in one[0]), "it has no METADATA"),
    "a file twice": (packed([*unpacked(SOUND), (SHARE, b"x = 1\n")]), "is not the file that its RECORD lists"),
    "half of it": (SOUND[: len(SOUND) // 2], "it is no wheel"),
    "no zip": (b"<html>please log in</html>", "it is no wheel"),
    "nothing": (b"", "it is no wheel"),
    "another method": (packed(unpacked(SOUND), zipfile.ZIP_LZMA), "is compressed by method 14, expected deflate or none"),
    "a bomb": (bomb([*unpacked(SOUND), (f"{INFO}/WHEEL", b"\0" * 999)]), "314,572,800 bytes, expected at most 268,435,456"),
}  # fmt: skip


def local(path, data, cache):
    """The kept files of a wheel that lies in a folder of `find-links`."""
    path.write_bytes(data)
    listing = Listing(frozenset(["1.0"]), wheels={"1.0": [WheelLink(path.as_uri(), NAME)]})
    with pytest.MonkeyPatch.context() as variables, Pip() as pip:
        variables.setenv("SITEPATCH_CACHE", str(cache))
        return fetch_release(pip, "demo", "1.0", [SHARE], listing)


@pytest.mark.parametrize("case", WRONG)
def test_a_wheel_that_is_not_what_it_says_is_not_kept(tmp_path, case):
    data, problem = WRONG[case]
    with pytest.raises(SitepatchError, match=problem):
        local(tmp_path / NAME, data, tmp_path / "cache")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / NAME]


def test_names_that_lead_out_of_a_wheel_lead_nowhere(tmp_path):
    names = ["../evil.py", "demo/../../evil.py", str(tmp_path / "evil.py"), "..", "demo/share.py/evil.py", "..\\evil.py", "../evil.dist-info/RECORD"]
    data = packed([*unpacked(SOUND), *((name, b"evil") for name in names)])
    folder = local(tmp_path / NAME, data, tmp_path / "cache/deep")
    written = {path.relative_to(folder).as_posix() for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert written == {SHARE, f"{INFO}/METADATA", f"{INFO}/RECORD", f"{INFO}/WHEEL"}


def test_whatever_bytes_a_wheel_has_it_is_read_or_refused_in_words():
    rng = random.Random(7)
    refused = 0
    for _ in range(2500):
        data = bytearray(SOUND)
        for _ in range(rng.randint(1, 5)):
            data[-rng.randint(1, rng.choice([600, len(data)]))] = rng.choice([0, 255, rng.randrange(256)])
        try:
            _members("a wheel", io.BytesIO(bytes(data)), [SHARE])
        except SitepatchError as error:
            refused += str(error).startswith("a wheel: ")
    assert refused > 1000


# an index that is down half-way ---------------------------------------------------------------------------------------

@pytest.mark.parametrize(
    ("act", "problem"),
    [
        (answering(403), "Could not fetch URL .*: 403 Client Error"),
        (answering(200, "application/octet-stream", b"\0"), "Skipping page .* Content-Type: application/octet-stream"),
        (answering(200, "application/vnd.pypi.simple.v1+json", b"{"), "JSONDecodeError: Expecting property name"),
    ],
    ids=["forbidden", "no listing", "half of a listing"],
)  # fmt: skip
def test_a_listing_that_cannot_be_had_is_no_project_without_releases(index, monkeypatch, act, problem):
    index.add("demo", "1.0", files(PLAIN))
    index.acts["demo"] = act
    set_variables(monkeypatch, index.variables(""))
    with Pip() as pip, pytest.raises(SitepatchError, match=f"pip could not list the releases of demo: {problem}"):
        pip.listing("demo")


def test_an_index_that_nobody_serves_is_no_project_without_releases(index, monkeypatch):
    set_variables(monkeypatch, {**index.variables(""), "PIP_RETRIES": "0", "PIP_INDEX_URL": "http://127.0.0.1:9/simple/"})
    with Pip() as pip, pytest.raises(SitepatchError, match="pip could not list the releases of demo: Could not fetch URL") as caught:
        pip.listing("demo")
    assert "is there a network" in caught.value.hint


def test_an_index_that_pip_does_not_trust_is_named(monkeypatch):
    set_variables(monkeypatch, {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://index.example/simple/", "PIP_EXTRA_INDEX_URL": ""})
    with Pip() as pip, pytest.raises(SitepatchError, match=r"index\.example is not a trusted or secure host") as caught:
        pip.listing("demo")
    assert "pip config set global.trusted-host index.example" in caught.value.hint


@pytest.mark.parametrize("kind", ["a file", "a FIFO"])
def test_a_page_of_an_index_names_no_file_of_this_machine(index, monkeypatch, tmp_path, kind):
    there = tmp_path / NAME
    if kind == "a FIFO":
        os.mkfifo(there)
    else:
        there.write_bytes(wheel("demo", "1.0", files(PLAIN)))
    index.acts["demo"] = answering(200, body=f'<a href="{there.as_uri()}">{NAME}</a>'.encode())
    set_variables(monkeypatch, index.variables(""))
    with Pip() as pip:
        releases = pip.listing("demo")
    assert not releases.wheels and not releases.versions
    with Pip() as pip, pytest.raises(SitepatchError, match="FIFO") if kind == "a FIFO" else nullcontext():
        pip.open(WheelLink(there.as_uri(), NAME)).close()  # as a folder of `find-links` may name it


def test_a_wheel_that_arrives_after_fetching_was_stopped_is_not_saved(index, pip):
    """As where somebody presses Ctrl-C while several are fetched: the temporary directory is gone when it arrives."""
    index.add("demo", "1.0", files(PLAIN))
    (link,) = pip.listing("demo").wheels["1.0"]
    index.held.add(NAME)
    with ThreadPoolExecutor() as threads:
        with pip:
            saved = threads.submit(pip.save, link)
            assert index.asked.wait(60)
        index.release.set()
        with pytest.raises(SitepatchError, match=r"^interrupted$"):
            saved.result()


def test_a_release_that_the_index_does_not_have_is_reported_as_such(index, pip, tmp_path):
    index.add("demo", "1.0", files(PLAIN))
    with pytest.raises(NoWheel, match="index has no such release"):
        fetched(pip, tmp_path, "1.0+corp")


@pytest.mark.filterwarnings("ignore:Creating a LegacyVersion:DeprecationWarning")  # pip's own, before 24.1
def test_one_listing_has_the_releases_for_every_python_and_none_that_is_for_windows_alone(index, pip, tmp_path):
    index.add("demo", "1.0", files(PLAIN), "py3-none-any")
    index.add("demo", "2.0", files(PLAIN), "cp38-cp38-linux_x86_64")
    index.add("demo", "2.0+cu121", files(PLAIN), "cp312-cp312-musllinux_1_2_x86_64")
    index.add("demo", "3.0", files(PLAIN), "cp311-cp311-win_amd64")
    for name in ("demo-0.3.2d.dev.tar.gz", "demo-0.5.zip"):  # the first as joblib's: pip before 24.1 takes any text for a version
        index.put("demo", name, b"not read")
    requests = []

    def act(handler, data):
        requests.append("demo")
        answering(200, body=data)(handler, data)

    index.acts["demo"] = act
    with fetching() as fetcher:
        listings = list_releases(fetcher, ["demo"], SILENT)
    assert listings["demo"].versions == {"0.5", "1.0", "2.0", "2.0+cu121"}
    assert requests == ["demo"]


def test_of_several_wheels_the_one_for_macos_is_taken_and_pure_ones_before(index, pip):
    pure, windows = "py3-none-any", "cp310-cp310-win_amd64"
    linux, macos, older_macos = "cp310-cp310-manylinux_2_28_x86_64", "cp310-cp310-macosx_11_0_arm64", "cp39-cp39-macosx_11_0_arm64"
    for tag in (linux, older_macos, macos, pure, windows):
        index.add("demo", "1.0", files(PLAIN), tag)
    in_order = [str(tag) for link in pip.listing("demo").wheels["1.0"] for tag in link.tags]
    assert in_order == [pure, macos, older_macos, linux]


def test_where_an_index_is_down_half_way_the_others_are_reported_and_kept_and_nothing_half(index, monkeypatch, tmp_path):
    for version in ("1.0", "1.1", "1.2"):
        index.add("demo", version, files(PLAIN))
    down = {NAME.replace("1.0", "1.1"): lambda handler, data: send(handler, 503, b""), NAME.replace("1.0", "1.2"): reset}
    index.acts.update(down)
    set_variables(monkeypatch, index.variables(tmp_path / "cache"))
    write_patchset(tmp_path, "ask")
    patchset = load_patchset(tmp_path / "ask", "test")
    (checked,) = check_releases([Requested(patchset, {})], ["1.0", "1.1", "1.2"], [])
    assert [(one.version, one.state) for one in checked.releases] == [("1.0", "applicable"), ("1.1", "not fetched"), ("1.2", "not fetched")]
    assert all(one.problem.startswith("pip could not fetch it: ") and "is there a network" in one.hint for one in checked.releases[1:])
    assert [path.name for path in (tmp_path / "cache/releases/demo").iterdir()] == ["1.0"]
    index.acts.clear()
    index.fetched.clear()
    (checked,) = check_releases([Requested(patchset, {})], ["1.0", "1.1", "1.2"], [])
    assert [one.state for one in checked.releases] == ["applicable"] * 3 and NAME not in index.fetched
    assert not list(tmp_path.rglob(".part-*"))


def test_a_cache_without_room_is_named_and_no_whole_wheel_is_fetched_for_it(index, pip, tmp_path):
    index.put("demo", NAME, LARGE)
    (tmp_path / "cache").write_bytes(b"")
    with pytest.raises(SitepatchError) as caught:
        fetch_all(pip, [("demo", "1.0")], {"demo": pip.listing("demo")}, {"demo": {SHARE}}, SILENT)
    assert caught.value.message == f"{tmp_path}/cache/releases/demo/1.0: Not a directory" and "SITEPATCH_CACHE" in caught.value.hint
    assert len(index.parts) == len(index.fetched)


def test_a_cache_that_cannot_be_made_says_which_variable_names_another(index, monkeypatch):
    monkeypatch.setenv("SITEPATCH_CACHE", os.devnull)
    with pytest.raises(StoreError) as caught, fetching():
        pass
    assert f"{os.devnull}/releases" in caught.value.message and "SITEPATCH_CACHE" in caught.value.hint
