"""What an index can do wrong: parts that lie, wheels that are not what their RECORD says, an index that is down half-way."""

import errno
import hashlib
import io
import json
import os
import random
import socket
import struct
import tempfile
import threading
import warnings
import zipfile
from unittest import mock

import pytest

import patcher.system.archive
from patcher.errors import SitepatchError
from patcher.model import Requested
from patcher.ops.events import SILENT
from patcher.ops.releases.against import check_releases
from patcher.ops.releases.fetching import Fetcher, fetch_all, fetching, list_releases
from patcher.patchset.manifest import load_patchset
from patcher.system.archive import member
from patcher.target.index import PYTHONS, Listing, Pip, WheelLink
from patcher.target.releases import _members, fetch_release
from patcher.target.remote import open_url
from tests.index import Index, wheel
from tests.test_check import PLAIN, SHARE, files, write_patchset

pytestmark = pytest.mark.once
NAME = "demo-1.0-py3-none-any.whl"
LARGE = wheel("demo", "1.0", {SHARE: PLAIN, "demo/large.py": "#" * (5 << 20)})
INFO = "demo-1.0.dist-info"


class Whole:
    """In the place of pip: gives whole wheels, and counts them."""

    stopped = False

    def __init__(self, folder, data):
        self.folder, self.data, self.fetched, self.writing = folder, data, 0, threading.Lock()

    def stop(self):
        pass

    def download(self, distribution, version):
        self.fetched += 1
        path = self.folder / f"fetched-{self.fetched}" / NAME
        path.parent.mkdir()
        path.write_bytes(self.data)
        return path, False


@pytest.fixture
def index():
    found = Index()
    found.parts = []
    yield found
    found.close()


# parts of a wheel -----------------------------------------------------------------------------------------------------
def send(handler, code, data, part="", length=None):
    handler.send_response(code)
    if part:
        handler.send_header("Content-Range", part)
    handler.send_header("Content-Length", str(len(data) if length is None else length))
    handler.end_headers()
    handler.wfile.write(data)
    handler.close_connection = True


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
def test_where_a_part_is_not_what_was_asked_for_the_whole_wheel_is_fetched(index, tmp_path, liar):
    asked = []

    def act(handler, data):
        first, last = map(int, handler.headers["Range"][len("bytes=") :].split("-"))
        asked.append(last + 1 - first)
        if last:
            LIARS[liar](handler, data, first, last)
        else:
            send(handler, 206, data[:1], f"bytes 0-0/{len(data)}")

    index.put("demo", NAME, LARGE)
    index.acts[NAME] = act
    pip, url = Whole(tmp_path, LARGE), f"{index.variables('')['PIP_INDEX_URL'][: -len('simple/')]}files/demo/{NAME}"
    folder = fetch_release(pip, tmp_path / "cache", "demo", "1.0", [SHARE], Listing(wheels={"1.0": WheelLink(url)}))
    assert (folder / SHARE).read_text() == PLAIN and pip.fetched == 1
    assert len(asked) < 16 and sum(asked) < 1 << 20


@pytest.mark.parametrize(("status", "size"), [(200, 10), (200, None), (206, 1 << 60), (206, 0)])
def test_a_server_that_says_another_size_is_left_to_pip(index, tmp_path, status, size):
    data = wheel("demo", "1.0", {SHARE: PLAIN})
    index.put("demo", NAME, data)
    index.acts[NAME] = lambda handler, data: send(handler, status, data[:5], f"bytes 0-0/{size}" if status == 206 else "", size or len(data))
    pip, url = Whole(tmp_path, data), f"{index.variables('')['PIP_INDEX_URL'][: -len('simple/')]}files/demo/{NAME}"
    folder = fetch_release(pip, tmp_path / "cache", "demo", "1.0", [SHARE], Listing(wheels={"1.0": WheelLink(url)}))
    assert (folder / SHARE).read_text() == PLAIN and pip.fetched == 1


# the hash that the index gives ----------------------------------------------------------------------------------------
def page_of(form, digest):
    """What answers with a page of the index, as PEP 503 or PEP 691 has it."""
    hashes = {"sha256": digest} if digest else {}
    files = [{"filename": NAME, "url": f"/files/demo/{NAME}", "hashes": hashes}]
    fragment = f"#sha256={digest}" if digest else ""
    kind, text = {
        "json": ("application/vnd.pypi.simple.v1+json", json.dumps({"meta": {"api-version": "1.0"}, "name": "demo", "files": files})),
        "html": ("text/html", f'<!DOCTYPE html><html><body><a href="/files/demo/{NAME}{fragment}">{NAME}</a></body></html>'),
    }[form]

    def act(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text.encode())

    return act


@pytest.mark.parametrize("page", ["html", "json"])
@pytest.mark.parametrize("digest", ["right", "wrong", "none"])
def test_a_wheel_is_held_against_the_hash_of_its_index(index, tmp_path, monkeypatch, page, digest):
    data = wheel("demo", "1.0", {SHARE: PLAIN})
    told = {"right": hashlib.sha256(data).hexdigest(), "wrong": "0" * 64, "none": ""}[digest]
    index.put("demo", NAME, data)
    variables = index.variables(tmp_path / "cache")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    index.acts["demo"] = page_of(page, told)
    with Pip() as pip:
        listing = pip.listing("demo", PYTHONS[0])
        if digest == "wrong":
            with pytest.raises(SitepatchError, match="is not the file that its index lists"):
                fetch_release(pip, tmp_path / "cache", "demo", "1.0", [SHARE], listing)
            assert not list((tmp_path / "cache").rglob("*.py"))
        else:
            folder = fetch_release(pip, tmp_path / "cache", "demo", "1.0", [SHARE], listing)
            assert (folder / SHARE).read_text() == PLAIN
    assert len(index.fetched) == len(index.parts)  # pip, which fetches whole wheels, was not needed


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


@pytest.mark.parametrize("case", WRONG)
def test_a_wheel_that_is_not_what_it_says_is_not_kept(tmp_path, case):
    data, problem = WRONG[case]
    with pytest.raises(SitepatchError, match=problem):
        fetch_release(Whole(tmp_path, data), tmp_path / "cache", "demo", "1.0", [SHARE])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_names_that_lead_out_of_a_wheel_lead_nowhere(tmp_path):
    names = ["../evil.py", "demo/../../evil.py", str(tmp_path / "evil.py"), "..", "demo/share.py/evil.py", "..\\evil.py", "../evil.dist-info/RECORD"]
    data = packed([*unpacked(SOUND), *((name, b"evil") for name in names)])
    folder = fetch_release(Whole(tmp_path, data), tmp_path / "cache/deep", "demo", "1.0", [SHARE])
    found = {path.relative_to(folder).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {SHARE, *(f"{INFO}/{each}" for each in ("METADATA", "RECORD", "WHEEL"))}


def test_whatever_bytes_a_wheel_has_it_is_read_or_refused_in_words():
    rng, told = random.Random(7), 0
    for _ in range(2500):
        data = bytearray(SOUND)
        for _ in range(rng.randint(1, 5)):
            data[-rng.randint(1, rng.choice([600, len(data)]))] = rng.choice([0, 255, rng.randrange(256)])
        try:
            _members("a wheel", io.BytesIO(bytes(data)), [SHARE])
        except SitepatchError as error:
            told += str(error).startswith("a wheel: ")
    assert told > 1000


def test_no_member_is_larger_than_what_is_read_of_it(monkeypatch):
    with zipfile.ZipFile(io.BytesIO(SOUND)) as archive:
        monkeypatch.setattr(patcher.system.archive, "FILE", len(PLAIN))
        assert member(archive, SHARE) == PLAIN.encode()
        monkeypatch.setattr(patcher.system.archive, "FILE", len(PLAIN) - 1)
        with pytest.raises(zipfile.BadZipFile, match=f"{SHARE} has {len(PLAIN)} bytes, expected at most {len(PLAIN) - 1}"):
            member(archive, SHARE)


# an index that is down half-way ---------------------------------------------------------------------------------------
def listing(code, kind="text/html", body=b"", length=None):
    def act(handler, data):
        handler.send_response(code)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(length or len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return act


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        (listing(403), "Could not fetch URL .*: 403 Client Error"),
        (listing(200, "application/octet-stream", b"\0"), "Skipping page .* Content-Type: application/octet-stream"),
        (listing(200, "application/vnd.pypi.simple.v1+json", b"{"), "JSONDecodeError: Expecting property name"),
    ],
    ids=["forbidden", "no listing", "half of a listing"],
)  # fmt: skip
def test_a_listing_that_cannot_be_had_is_no_project_without_releases(index, monkeypatch, act, problem):
    index.add("demo", "1.0", files(PLAIN))
    index.acts["demo"] = act
    for name, value in index.variables("").items():
        monkeypatch.setenv(name, value)
    with Pip() as pip, pytest.raises(SitepatchError, match=f"pip could not list the releases of demo: {problem}"):
        pip.listing("demo", "3.10")


@pytest.mark.parametrize("down", [False, True], ids=["forbidden", "nobody there"])
def test_a_release_of_an_index_that_pip_passes_over_is_none_without_a_wheel(index, monkeypatch, down):
    index.acts["demo"] = listing(403)
    for name, value in {**index.variables(""), "PIP_RETRIES": "0"}.items():
        monkeypatch.setenv(name, value)
    if down:
        monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    with Pip() as pip, pytest.raises(SitepatchError, match="pip could not list the releases of demo: Could not fetch URL"):
        pip.download("demo", "1.0")


def test_an_index_that_pip_does_not_trust_is_named(monkeypatch):
    for name, value in {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://index.example/simple/", "PIP_EXTRA_INDEX_URL": ""}.items():
        monkeypatch.setenv(name, value)
    with Pip() as pip, pytest.raises(SitepatchError, match=r"index\.example is not a trusted or secure host") as caught:
        pip.listing("demo", "3.10")
    assert "pip config set global.trusted-host index.example" in caught.value.hint


@pytest.mark.parametrize("kind", ["a file", "a FIFO"])
def test_a_page_of_an_index_names_no_file_of_this_machine(index, monkeypatch, tmp_path, kind):
    there = tmp_path / NAME
    os.mkfifo(there) if kind == "a FIFO" else there.write_bytes(wheel("demo", "1.0", files(PLAIN)))
    index.acts["demo"] = listing(200, body=f'<a href="{there.as_uri()}">{NAME}</a>'.encode())
    for name, value in index.variables("").items():
        monkeypatch.setenv(name, value)
    with Pip() as pip:
        releases = pip.listing("demo", "3.10")
    assert not releases.wheels and not releases.versions
    opened = open_url(there.as_uri())  # as a folder of `find-links` may name it
    assert (opened is None) == (kind == "a FIFO")
    if opened is not None:
        opened.close()


def test_a_release_that_the_index_does_not_have_is_reported_as_such(index, monkeypatch):
    index.add("demo", "1.0", files(PLAIN))
    for name, value in index.variables("").items():
        monkeypatch.setenv(name, value)
    with Pip() as pip, pytest.raises(SitepatchError, match="index has no such release"):
        pip.download("demo", "1.0+corp")


@pytest.mark.parametrize(
    ("more", "lists"),
    [
        ([], 1),  # one Python is enough: pip starts for half a second each time
        ([("2.0", "cp310-cp310-manylinux_2_28_x86_64"), ("2.0", "cp311-cp311-win_amd64")], 1),
        ([("2.0+cu121", "cp312-cp312-manylinux_2_28_x86_64")], len(PYTHONS)),
        ([("2.0.post1", "cp38-cp38-linux_x86_64"), ("3.0", "cp311-cp311-win_amd64")], len(PYTHONS)),
    ],
    ids=["one wheel for all", "also for others", "another's vendor build", "another's and nobody's"],
)  # fmt: skip
def test_other_pythons_are_asked_only_where_they_have_releases_that_the_first_has_not(index, monkeypatch, tmp_path, more, lists):
    for version, tag in [("1.0", "py3-none-any"), *more]:
        index.add("demo", version, files(PLAIN), tag)
    asked, names = [], {version for version, tag in more if "win" not in tag}
    index.acts["demo"] = lambda handler, data: asked.append(1) or listing(200, body=data)(handler, data)
    for name, value in index.variables(tmp_path / "cache").items():
        monkeypatch.setenv(name, value)
    with fetching(2, SILENT) as fetcher:
        assert list_releases(fetcher, ["demo"], ["all"])["demo"].versions == {"1.0", *names} and len(asked) == lists
        assert list_releases(fetcher, ["demo"], ["1.0"])["demo"].versions == {"1.0"} | (names if lists == 1 else set())
        assert len(asked) == lists + 1


def test_where_an_index_is_down_half_way_the_others_are_reported_and_kept_and_nothing_half(index, monkeypatch, tmp_path):
    for version in ("1.0", "1.1", "1.2"):
        index.add("demo", version, files(PLAIN))
    down = {NAME.replace("1.0", "1.1"): lambda handler, data: send(handler, 503, b""), NAME.replace("1.0", "1.2"): reset}
    index.acts.update(down)
    for name, value in index.variables(tmp_path / "cache").items():
        monkeypatch.setenv(name, value)
    write_patchset(tmp_path, "ask")
    patchset = load_patchset(tmp_path / "ask", "test")
    (checked,) = check_releases([Requested(patchset, {})], ["1.0", "1.1", "1.2"], [], 2)
    assert [(one.version, one.word) for one in checked.outcomes] == [("1.0", "applies"), ("1.1", "not fetched"), ("1.2", "not fetched")]
    assert all(one.problem.startswith("pip could not fetch it: ") and "is there a network" in one.hint for one in checked.outcomes[1:])
    assert [path.name for path in (tmp_path / "cache/releases/demo").iterdir()] == ["1.0"]
    index.acts.clear()
    index.fetched.clear()
    (checked,) = check_releases([Requested(patchset, {})], ["1.0", "1.1", "1.2"], [], 2)
    assert [one.word for one in checked.outcomes] == ["applies"] * 3 and NAME not in index.fetched
    assert not list(tmp_path.rglob(".part-*"))


def test_a_cache_without_room_is_named_and_no_whole_wheel_is_fetched_for_it(index, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "mkdtemp", mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
    index.put("demo", NAME, LARGE)
    pip, url = Whole(tmp_path, LARGE), f"{index.variables('')['PIP_INDEX_URL'][: -len('simple/')]}files/demo/{NAME}"
    fetcher = Fetcher(pip, tmp_path / "cache", 1, SILENT)
    with pytest.raises(SitepatchError) as caught:
        fetch_all(fetcher, [("demo", "1.0")], {"demo": Listing(wheels={"1.0": WheelLink(url)})}, {"demo": {SHARE}})
    assert caught.value.message == f"{tmp_path}/cache: No space left on device" and "SITEPATCH_CACHE" in caught.value.hint
    assert pip.fetched == 0 and index.parts
