"""What a hook makes of each state of a target file and says at a start, in this process: files are put there by hand."""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from patcher.errors import FormatError, OutdatedError, SitepatchError, StoreError, UsageError
from patcher.hook import boot, installed, other, places, recheck, repair
from patcher.hook.classify import classify_targets
from patcher.hook.content import (
    Content,
    Hook,
    HookPatchset,
    Precomputed,
    load_hook,
    read_hook,
    read_precomputed,
    read_texts,
    write_hook,
    write_precomputed,
)
from patcher.hook.wheel import wheel as hook_wheel
from patcher.model import Change, LockedFile, Receipt, Splice, Step
from patcher.ops.hooks import remove_hook
from patcher.ops.place import Place
from patcher.store.store import Store
from patcher.system.reading import patchset_digest
from patcher.target.interpreter import Environment
from tests.places import wheel
from tests.users import ROOT_ONLY, open_descriptors

M, N = "demo/m.py", "demo/n.py"
PRISTINE, PATCHED = b"VALUE = 1\n", b"VALUE = 22\n"
TEXTS = {"patchset.toml": "x"}
DIGEST = patchset_digest(TEXTS)
NEEDED = "to patch it sitepatch itself is needed, in this environment: pip install sitepatch==0.1.0"


def digest(data):
    return sha256(data).hexdigest()


def step(name="two", new=b"22", digest=DIGEST, **options):
    return Step(name, "1", digest, "debug", options, (Splice(8, 9, new),), (1,), ("applicable",))


def asked(name="two", paths=(M,), digest=DIGEST, **options):
    return HookPatchset(name, "1", digest, options, tuple(TEXTS), {"demo": tuple(paths)})


def hook(*patchsets, name="sitepatch-hook-x"):
    return Hook(name, "0.1.0+h123", "repair", patchsets or (asked(),))


def precomputed(path=M, after=PATCHED, steps=None, version="1.0", exact=True):
    file = LockedFile("demo", "demo_kit", version, path, digest(PRISTINE), digest(after))
    return Precomputed(file, exact, (step(),) if steps is None else steps)


class Site:
    """A site directory with demo of demo_kit 1.0, as an installer lays it out."""

    def __init__(self, folder):
        self.path = folder / "site"
        self.path.mkdir()
        self.install()

    def __str__(self):
        return str(self.path)

    def install(self, version="1.0", text=PRISTINE):
        for old in self.path.glob("demo_kit-*.dist-info/*"):
            old.unlink()
        for old in self.path.glob("demo_kit-*.dist-info"):
            old.rmdir()
        files = {"demo/__init__.py": "", M: text.decode(), N: "VALUE = 1\n"}
        with zipfile.ZipFile(str(wheel(self.path.parent / "wheels", "demo_kit", version=version, files=files))) as archive:
            archive.extractall(str(self))

    def write(self, data, path=M):
        (self.path / path).write_bytes(data)

    def apply(self, *steps, data=PATCHED, path=M):
        """Put the file in place as `apply` does."""
        receipt = Receipt(path, "demo", "demo_kit", "1.0", digest(PRISTINE), digest(data), 0o644, 7_000_000_000, "", steps)
        texts = {each.digest: TEXTS for each in steps}
        Store(str(self)).commit([Change(path, digest((self.path / path).read_bytes()), data, receipt)], texts)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def nothing(found):
    assert (found.changes, found.wrong, found.unknown) == ((), {}, {})
    assert found.expected == found.before


def unknown(found, text, name="two"):
    assert (found.changes, found.wrong, list(found.unknown)) == ((), {}, [name])
    assert found.unknown[name] == text


def wrong(found, *parts, name="two"):
    assert (found.changes, found.unknown, list(found.wrong)) == ((), {}, [name])
    for part in parts:
        assert part in found.wrong[name], found.wrong


def test_where_the_patchset_is_not_for_every_release_it_is_said_which_it_is_for(site):
    site.install("2.0", text=b"VALUE = 7\n")
    ranged = asked()._replace(versions={"demo": ">=1,<2"})
    said = "; two is for demo >=1,<2: any other release needs a hook that is made with a newer two"
    unknown(classify_targets(str(site), hook(ranged), [precomputed()]), f"{M}: is not among the known files (here it is of demo_kit 2.0); {NEEDED}{said}")


def test_of_two_patchsets_in_one_file_each_names_the_releases_that_it_is_for_itself(site):
    site.install("2.0", text=b"VALUE = 7\n")
    ranges = {"two": ">=1,<2", "three": ">=0.5"}
    found = classify_targets(str(site), hook(*(asked(name)._replace(versions={"demo": each}) for name, each in ranges.items()), asked("four")), [])
    said = f"{M}: is not among the known files (here it is of demo_kit 2.0); {NEEDED}"
    for name, each in ranges.items():
        assert found.unknown[name] == f"{said}; {name} is for demo {each}: any other release needs a hook that is made with a newer {name}"
    assert found.unknown["four"] == said


# a known file ---------------------------------------------------------------------------------------------------------
def test_the_pristine_file_becomes_what_was_precomputed_with_the_receipt_that_apply_writes(site):
    os.utime(str(site.path / M), ns=(5, 1_600_000_000_123_456_789))
    (site.path / M).chmod(0o640)
    found = classify_targets(str(site), hook(), [precomputed()])
    (change,) = found.changes
    assert change == Change(M, digest(PRISTINE), PATCHED, Receipt(
        M, "demo", "demo_kit", "1.0", digest(PRISTINE), digest(PATCHED), 0o640, 1_600_000_000_123_456_789, "", (step(),), "recorded",
    ))  # fmt: skip
    assert (found.wrong, found.unknown) == ({}, {})
    assert found.before == {M: digest(PRISTINE)} and found.expected == {M: digest(PATCHED)} and found.sizes == {M: 10}
    assert found.records == {"demo_kit-1.0.dist-info/RECORD": boot.signature(f"{site}/demo_kit-1.0.dist-info/RECORD")}


def test_a_link_is_kept_as_one_and_a_file_without_record_is_unrecorded(site):
    (site.path / M).rename(site.path / "elsewhere.py")
    os.utime(f"{site}/elsewhere.py", (5, 5))
    (site.path / M).symlink_to("../elsewhere.py")
    (site.path / "demo_kit-1.0.dist-info/RECORD").unlink()
    found = classify_targets(str(site), hook(), [precomputed(exact=False)])  # nothing tells its release any more
    (change,) = found.changes
    assert (change.receipt.link, change.receipt.origin, found.records) == ("../elsewhere.py", "unrecorded", {})
    assert change.receipt.mtime_ns == os.lstat(f"{site}/{M}").st_mtime_ns
    unknown(classify_targets(str(site), hook(), [precomputed()]), f"{M}: is not among the known files (here it is of demo); {NEEDED}")


def test_what_is_applied_stays_and_an_absent_file_or_package_is_no_failure(site):
    site.apply(step())
    nothing(classify_targets(str(site), hook(), [precomputed()]))
    (site.path / M).unlink()
    found = classify_targets(str(site), hook(), [precomputed()])
    nothing(found)
    assert (found.before, found.sizes) == ({M: ""}, {})


def test_an_earlier_version_is_replaced_by_way_of_the_pristine_copy(site):
    site.apply(step(new=b"333", level=1), data=b"VALUE = 333\n")
    found = classify_targets(str(site), hook(asked(level=2)), [precomputed(steps=(step(level=2),))])
    (change,) = found.changes
    assert (change.old, change.data) == (digest(b"VALUE = 333\n"), PATCHED)
    assert (change.receipt.mtime_ns, change.receipt.mode, change.receipt.origin) == (7_000_000_000, 0o644, "recorded")
    assert change.receipt.steps[0].options == {"level": 2}


def test_a_file_that_a_reinstall_put_back_is_patched_again_and_its_receipt_is_not_trusted(site):
    site.apply(step(new=b"333"), data=b"VALUE = 333\n")
    site.install()
    os.utime(str(site.path / M), (9, 9))
    (change,) = classify_targets(str(site), hook(), [precomputed()]).changes
    assert (change.old, change.data, change.receipt.mtime_ns) == (digest(PRISTINE), PATCHED, 9_000_000_000)


@pytest.mark.parametrize(("exact", "version", "known"), [(True, "1.0", True), (True, "1.1", False), (False, "1.1", True)])
def test_a_release_outside_of_the_ranges_is_not_known_by_its_bytes(site, exact, version, known):
    found = classify_targets(str(site), hook(), [precomputed(version=version, exact=exact)])
    if known:
        assert [each.path for each in found.changes] == [M]
    else:
        unknown(found, f"{M}: is not among the known files (here it is of demo_kit 1.0); {NEEDED}")


def test_of_entries_for_the_same_bytes_that_of_the_release_counts(site):
    other = precomputed(version="2.0", exact=False, after=b"VALUE = 9\n", steps=(step(new=b"9"),))
    for entries in ([other, precomputed()], [precomputed(), other]):
        assert classify_targets(str(site), hook(), entries).changes[0].data == PATCHED


def test_a_file_in_which_nothing_is_to_be_changed_is_left_alone(site):
    nothing(classify_targets(str(site), hook(), [precomputed(after=PRISTINE, steps=())]))


def test_a_precomputed_change_that_leads_to_other_bytes_is_damaged(site):
    wrong(classify_targets(str(site), hook(), [precomputed(after=b"VALUE = 3\n")]), f"{M}: {M}: the change that the hook carries is damaged")


def test_a_receipt_that_cannot_be_trusted_is_an_error(site):
    site.apply(step())
    (receipt,) = (site.path / ".sitepatch/receipts").iterdir()
    receipt.write_text("{")
    with pytest.raises(StoreError):
        classify_targets(str(site), hook(), [precomputed()])


# what is not known, or in the way ---------------------------------------------------------------------------------------
def test_bytes_that_nobody_knows_are_left_to_sitepatch_or_are_an_edit(site):
    site.install(text=b"VALUE = 7\n")
    unknown(classify_targets(str(site), hook(), [precomputed()]), f"{M}: is not among the known files (here it is of demo_kit 1.0); {NEEDED}")
    site.write(b"VALUE = 8\n")
    found = classify_targets(str(site), hook(), [precomputed()])
    assert list(found.unknown) == ["two"] and "the file is not what demo_kit 1.0 installed: somebody edited it" in found.unknown["two"]
    assert found.unknown["two"].endswith("pip install --force-reinstall --no-deps demo_kit==1.0")


def test_known_bytes_that_record_disowns_are_an_edit(site):
    site.install(text=b"VALUE = 7\n")
    site.write(PRISTINE)
    wrong(classify_targets(str(site), hook(), [precomputed()]), f"{M}: the file is not what demo_kit 1.0 installed: somebody edited it")


def test_an_edit_of_the_patched_file_stays(site):
    site.apply(step())
    site.write(PATCHED + b"# mine\n")
    wrong(classify_targets(str(site), hook(), [precomputed()]), f"{M}: the file was changed after it was patched; restore takes our change out")


def test_a_patched_file_of_another_release_is_named(site):
    site.apply(step())
    site.install("2.0", text=b"VALUE = 7\n")
    site.write(PATCHED)
    wrong(classify_targets(str(site), hook(), [precomputed()]), f"{M}: the file is that of demo_kit 1.0 as we patched it, but another build")


def test_a_compiled_module_beside_it_is_what_is_imported(site):
    name = "m.cpython-{}{}.so".format(*sys.version_info)
    (site.path / "demo" / name).write_bytes(b"")
    wrong(classify_targets(str(site), hook(), [precomputed()]), f"{M}: {M} is not what is imported: the compiled {name}")


def test_two_distributions_of_one_package_are_named_only_where_a_file_is_there(site):
    wheel(site.path.parent / "wheels", "demo-too", "3.0")
    other = site.path / "demo_too-3.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: demo-too\nVersion: 3.0\n")
    (other / "RECORD").write_text((site.path / "demo_kit-1.0.dist-info/RECORD").read_text())
    absent = HookPatchset("three", "1", DIGEST, {}, (), {"nowhere": ("nowhere/m.py",)})
    wrong(classify_targets(str(site), hook(asked(paths=(M, "demo/absent.py")), absent), [precomputed()]), "two: ")
    (site.path / M).unlink()
    nothing(classify_targets(str(site), hook(), [precomputed()]))


def test_what_sitepatch_applied_to_an_unknown_release_is_as_requested(site):
    site.install(text=b"VALUE = 5\n")
    receipt = Receipt(M, "demo", "demo_kit", "1.0", digest(b"VALUE = 5\n"), digest(PATCHED), 0o644, 7, "", (step(level=1),))
    Store(str(site)).commit([Change(M, digest(b"VALUE = 5\n"), PATCHED, receipt)], {DIGEST: TEXTS})
    nothing(classify_targets(str(site), hook(asked(level=1)), [precomputed()]))
    nothing(classify_targets(str(site), hook(asked(level=1), asked("other", (N,))), [precomputed(N, after=PRISTINE, steps=())]))
    unknown(classify_targets(str(site), hook(asked(level=2)), [precomputed()]), f"{M}: is not among the known files (here it is of demo_kit 1.0); {NEEDED}")
    both = hook(asked(level=1), asked("three", level=1))
    assert set(classify_targets(str(site), both, [precomputed()]).unknown) == {"two", "three"}, "one of them is missing there"
    more = receipt._replace(steps=(step(level=1), step("three", level=1)))
    Store(str(site)).commit([Change(M, digest(PATCHED), PATCHED, more)], {DIGEST: TEXTS})
    nothing(classify_targets(str(site), both, []))


def test_what_another_patchset_changed_too_is_left_to_sitepatch(site):
    text = f"{M}: another patchset is applied in it, or another version of this one; {NEEDED}"
    other = step("other", b"22")._replace(splices=(Splice(0, 0, b"#\n"),))
    site.apply(other, data=b"#\nVALUE = 1\n")
    unknown(classify_targets(str(site), hook(), [precomputed()]), text)
    site.apply(step(), other, data=b"#\nVALUE = 22\n")
    nothing(classify_targets(str(site), hook(), [precomputed()]))


def test_what_this_version_does_not_change_any_more_is_left_to_sitepatch(site):
    text = f"{M}: another patchset is applied in it, or another version of this one; {NEEDED}"
    site.apply(step())
    unknown(classify_targets(str(site), hook(), [precomputed(after=PRISTINE, steps=())]), text)


def test_a_file_that_an_earlier_version_changed_is_left_to_sitepatch(site):
    site.apply(step(), path=N)
    unknown(classify_targets(str(site), hook(), [precomputed()]), f"{N}: an earlier version of it is applied there; {NEEDED}")
    nothing(classify_targets(str(site), hook(asked(paths=(N,))), [precomputed(N)]))


# several patchsets, several files ---------------------------------------------------------------------------------------
def test_a_patchset_is_changed_in_all_of_its_files_or_in_none_and_so_is_what_shares_a_file(site):
    two, three, four = asked(paths=(M, N)), asked("three", (N,)), asked("four", ("demo/__init__.py",))
    first = Precomputed(LockedFile("demo", "demo_kit", "1.0", "demo/__init__.py", digest(b""), digest(b"#\n")), True, (step("four")._replace(splices=(Splice(0, 0, b"#\n"),)),))
    entries = [precomputed(), precomputed(N, steps=(step(), step("three")._replace(splices=(Splice(0, 0, b"#\n"),))), after=b"#\nVALUE = 22\n"), first]
    found = classify_targets(str(site), hook(two, three, four), entries)
    assert [each.path for each in found.changes] == ["demo/__init__.py", M, N]
    assert found.expected == {each.path: digest(each.data) for each in found.changes}
    site.write(b"VALUE = 8\n", M)
    found = classify_targets(str(site), hook(two, three, four), entries)
    assert [each.path for each in found.changes] == ["demo/__init__.py"]
    assert "somebody edited it" in found.unknown["two"]
    assert found.unknown["three"] == f"{N}: shares it with a patchset that is not known there; {NEEDED}"
    assert found.expected == {**found.before, "demo/__init__.py": digest(b"#\n")}
    chain = hook(two, asked("three", (N, "demo/__init__.py")), four)
    assert list(classify_targets(str(site), chain, entries).unknown) == ["two", "three", "four"]
    site.write(PATCHED, M)
    site.install()
    site.apply(step(), path=M)
    site.write(PATCHED + b"# mine\n", M)
    found = classify_targets(str(site), hook(two, three, four), entries)
    assert list(found.wrong) == ["two"] and list(found.unknown) == ["three"], "what is wrong is not asked of sitepatch"
    site.write(b"VALUE = 8\n", N)
    found = classify_targets(str(site), hook(two, three, four), entries)
    assert list(found.wrong) == ["two"] and list(found.unknown) == ["three"], "nor where it is unknown as well"


@pytest.mark.parametrize(
    ("name", "level", "rival"), [("a-hook", 1, True), ("a-hook", 0, False), ("z-hook", 1, False), ("sitepatch-hook-x", 1, False)]
)
def test_of_two_hooks_that_want_it_otherwise_the_first_by_name_has_its_way(site, name, level, rival):
    folder = site.path / "_other"
    folder.mkdir()
    (folder / "hook.json").write_bytes(write_hook(hook(asked(level=level), name=name)))
    (folder / "kept.json").write_bytes(write_precomputed((), {}))
    found = classify_targets(str(site), hook(asked(level=0)), [precomputed(steps=(step(level=0),))])
    if rival:
        wrong(found, f"two: {name} keeps it applied in another version or with other options; uninstall {name} or sitepatch-hook-x")
        assert found.records["_other/hook.json"] == boot.signature(str(folder / "hook.json"))
    else:
        assert [each.path for each in found.changes] == [M]
        assert list(found.records) == ["demo_kit-1.0.dist-info/RECORD"]
    (folder / "kept.json").unlink()
    (folder / "hook.json").write_bytes(b'{"sitepatch"')
    found = classify_targets(str(site), hook(asked(level=0)), [precomputed(steps=(step(level=0),))])
    assert [each.path for each in found.changes] == [M], "a damaged hook does nothing"
    (folder / "hook.json").write_bytes(b'{"format": 2, "sitepatch": "9.0"}')
    with pytest.raises(FormatError):
        classify_targets(str(site), hook(asked(level=0)), [])


@pytest.mark.parametrize(
    ("files", "counts"),
    [
        ({"hook.json": write_hook(hook())}, True),
        ({"hook.json": b"{", "kept.json": b'{"sitepatch": "0.1.0"}'}, True),
        ({"hook.json": b'{"sitepatch"'}, True),
        ({"hook.json": b'{"hooks": ["pre-commit"]}'}, False),
        ({"hook.json": b"\xff"}, False),
        ({"hook.json": b""}, False),
        ({"kept.json": b'{"sitepatch": "0.1.0"}'}, False),
    ],
)
def test_only_what_sitepatch_wrote_is_a_hook(site, files, counts):
    folder = site.path / "_other"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    assert places.folders(Environment.alone(str(site))) == [str(folder)] * counts
    if not counts:
        assert [each.path for each in classify_targets(str(site), hook(), [precomputed()]).changes] == [M]


# what runs at a start, without starting ---------------------------------------------------------------------------------
@pytest.fixture
def started(tmp_path, monkeypatch, capfd):
    """Call start() of a boot module that lies in a site directory; returns (exit code or None, lines of stderr)."""
    folder = tmp_path / "_hook_x"
    folder.mkdir()
    (tmp_path / "m.py").write_text("12345")
    os.utime(str(tmp_path / "m.py"), (7, 7))

    def start(*lines, mode="repair", force="", did="tried", again=False, fails=""):
        head = f"sitepatch-hook 1 ID {did}"
        (folder / "state").write_text("\n".join([head, *lines, "end", ""]))
        text = Path(boot.__file__).read_text(encoding="utf-8").replace("@NAME@", "hook-x").replace("@ID@", "ID").replace("@MODE@", mode)
        (folder / "__init__.py").write_text(text, encoding="utf-8")
        (folder / "recheck.py").write_text(f"def recheck(here, name, mode, read, report):\n    {fails}\n    read(mode, True)\n    report('looked ' + mode)\n    return ['rechecked'], False\n")
        monkeypatch.setenv("SITEPATCH_HOOK", force)
        monkeypatch.syspath_prepend(str(tmp_path))
        for name in [name for name in sys.modules if name.startswith("_hook_x")]:
            del sys.modules[name]
        module = importlib.import_module("_hook_x")
        exits = []
        monkeypatch.setattr(module.os, "_exit", exits.append)
        module.start()
        if again:
            module.start()
        return exits, [line.partition("sitepatch-hook: ")[2] for line in capfd.readouterr().err.splitlines()]

    return start


GOOD, BAD, WHY = "= 7:5 m.py", "! 7:5 m.py", ": it does not fit"
FAILED = "hook-x could not look at its files: ZeroDivisionError: division by zero"
STRICT = "hook-x is strict: the program is not started (SITEPATCH_HOOK=off starts it, to mend this)"


@pytest.mark.parametrize(
    ("lines", "how", "exits", "said"),
    [
        ([GOOD], {}, [], []),
        ([GOOD], {"mode": "strict"}, [], []),
        ([BAD, WHY], {}, [], []),
        ([BAD, WHY], {"mode": "warn"}, [], ["it does not fit"]),
        ([BAD, WHY], {"mode": "warn", "did": "looked"}, [], ["it does not fit"]),
        ([BAD, WHY], {"mode": "warn", "again": True}, [], ["it does not fit"]),
        ([BAD, WHY], {"mode": "strict"}, [1], ["it does not fit", STRICT]),
        ([BAD, WHY], {"mode": "strict", "force": "off"}, [], []),
        ([BAD, WHY], {"mode": "strict", "force": "repair"}, [], []),
        ([BAD, WHY], {"mode": "repair", "force": "warn"}, [], ["it does not fit"]),
        ([BAD, WHY], {"mode": "warn", "force": "x"}, [],
         ["SITEPATCH_HOOK: found 'x', expected repair, warn, strict or off; the mode is warn", "it does not fit"]),
        ([BAD, WHY], {"did": "looked"}, [], ["looked repair"]),
        (["= 8:5 m.py"], {}, [], ["looked repair"]),
        (["= 8:5 m.py"], {"mode": "strict"}, [1], ["looked strict", "rechecked", STRICT]),
        (["= absent n.py"], {}, [], []),
        (["= 8:5 m.py"], {"fails": "1 / 0"}, [], [FAILED]),
        (["= 8:5 m.py"], {"fails": "1 / 0", "mode": "warn"}, [], [FAILED]),
        (["= 8:5 m.py"], {"fails": "1 / 0", "mode": "strict"}, [1], [FAILED, STRICT]),
    ],
)
def test_what_a_start_says_and_whether_the_program_is_started(started, lines, how, exits, said):
    assert started(*lines, **how) == (exits, said)


def test_a_damaged_state_is_reported_where_it_is_looked_at_again(started):
    exits, said = started("?")
    assert exits == [] and len(said) == 2
    assert "/_hook_x/state: is damaged (" in said[0] and said[0].endswith("; looking at every file again")


# the slow part of a start -------------------------------------------------------------------------------------------------
SILENT = "hook-x could not see to its files"


@pytest.mark.parametrize("lock", [None, 7])
@pytest.mark.parametrize(
    ("mode", "states", "problem", "expected", "said"),
    [
        ("repair", [["x"]], "not run", (["x"], False), []),  # another process has looked meanwhile
        ("repair", [[]], "not run", ([], False), []),
        ("repair", [None, []], "", ([], True), []),
        ("warn", [None, ["x"]], None, (["x"], False), []),
        ("strict", [None, ["x"]], None, (["x"], True), []),
        ("warn", [None, None], "", ([], True), []),  # nothing can be written, and all is as requested
        ("warn", [None, None], None, ([SILENT], True), []),
        ("warn", [None, None], "why not", ([SILENT], True), ["hook-x: why not"]),
        ("warn", [None, ["x"]], "why not", (["x"], False), ["hook-x: why not"]),
    ],
)
def test_one_process_checks_again_and_reports_what_its_child_did_not(monkeypatch, lock, mode, states, problem, expected, said):
    heard, left, aloud, closed = [], list(states), [], []

    def read(how, **more):
        assert how == mode
        aloud.append(more)
        return left.pop(0)

    def run(here, how):
        assert (here, how, len(left)) == ("/here", mode, 1)
        return problem

    monkeypatch.setattr(recheck, "take_lock", lambda path: lock if path == "/here/lock" else pytest.fail(path))
    monkeypatch.setattr(recheck, "run_child", run)
    with monkeypatch.context() as patched:
        patched.setattr(os, "close", closed.append)
        assert recheck.recheck("/here", "hook-x", mode, read, heard.append) == expected
    assert (heard, left, closed) == (said, [], [7] if lock else [])
    assert aloud == [{"aloud": True}, {}][: len(states)], "what is damaged is said once"


@pytest.fixture
def no_descriptor_left():
    before = open_descriptors()
    yield
    assert open_descriptors() <= before


def test_the_lock_of_a_hook_is_waited_for_and_not_for_ever(tmp_path, monkeypatch, no_descriptor_left):
    path, clock = str(tmp_path / "lock"), [1000.0]
    held = recheck.take_lock(path)
    assert held >= 10, "the child keeps it"
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    with pytest.raises(TimeoutError, match=f"^another process has held {path} for {recheck.WAIT} seconds$"):
        recheck.take_lock(path)
    assert clock[0] - 1000 == pytest.approx(recheck.WAIT, abs=0.1)
    os.close(held)
    os.close(recheck.take_lock(path))
    assert recheck.take_lock(str(tmp_path / "none/lock")) is None
    monkeypatch.setattr("fcntl.flock", lambda *_: (_ for _ in ()).throw(OSError("no locks here")))
    assert recheck.take_lock(path) is None


@pytest.mark.parametrize(("mode", "kept"), [(0o600, True), (0o700, True), (0o640, False), (0o604, False), (None, True)])
def test_a_lock_file_that_others_may_open_is_replaced(tmp_path, no_descriptor_left, mode, kept):
    path = tmp_path / "lock"
    if mode is not None:
        path.write_text("a")
        path.chmod(mode)
    fd = recheck.open_private(str(path))
    os.write(fd, os.pread(fd, 1, 0) + b"b")
    os.close(fd)
    assert path.read_text() == ("ab" if mode and kept else "b") and path.stat().st_mode & 0o077 == 0


@ROOT_ONLY
def test_a_lock_file_of_somebody_else_is_refused(tmp_path, no_descriptor_left):
    path = tmp_path / "lock"
    for mode in (0o600, 0o666):
        path.write_text("")
        path.chmod(mode)
        os.chown(str(path), 1001, 1001)
        with pytest.raises(PermissionError):
            recheck.open_private(str(path))
        assert path.stat().st_uid == 1001
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(OSError):
        recheck.open_private(str(tmp_path / "link"))


@pytest.mark.parametrize(
    ("does", "expected"),
    [("exit 0", ""), ("exit 1", None), ("kill -9 $$", "the process that looks at its files was ended by signal 9")],
)
@pytest.mark.parametrize("stderr", [True, False])
def test_how_the_child_ends(tmp_path, monkeypatch, capfd, stderr, does, expected):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$1 $2 $3 $4 $6 $7 $SITEPATCH_HOOK $(cat)"\n{does}\n')
    python.chmod(0o755)
    monkeypatch.setattr(recheck, "interpreter", lambda: str(python))
    if not stderr:
        monkeypatch.setattr(sys, "stderr", None)
    python.with_name("in").write_text("not for the child")
    stdin = os.dup(0)
    with python.with_name("in").open() as file:
        os.dup2(file.fileno(), 0)
        try:
            assert recheck.run_child("/here", "warn") == expected
        finally:
            os.dup2(stdin, 0)
            os.close(stdin)
    assert capfd.readouterr() == ("", "-I -S -B -c /here warn off \n" if stderr else "")


def test_without_a_python_there_is_no_child_and_one_that_is_lost_has_spoken(monkeypatch):
    monkeypatch.setattr(recheck, "interpreter", lambda: "")
    assert recheck.run_child("/here", "warn") == f"found no Python to run; start the one of this environment once: {sys.prefix}"
    monkeypatch.setattr(recheck, "interpreter", lambda: "/bin/true")
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert recheck.run_child("/here", "warn") is None
    finally:
        signal.signal(signal.SIGCHLD, before)


VERSIONED = f"python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.parametrize(
    ("executable", "there", "expected"),
    [
        ("at/python3", ["at/python3", f"bin/{VERSIONED}"], "at/python3"),
        ("at/pypy3", ["at/pypy3"], "at/pypy3"),
        ("at/uwsgi", ["at/uwsgi", "bin/python", "bin/python3", f"bin/{VERSIONED}"], f"bin/{VERSIONED}"),
        ("at/python3", ["bin/python", "bin/python3"], "bin/python3"),
        (None, ["bin/python"], "bin/python"),
        ("at/uwsgi", ["at/uwsgi"], ""),
    ],
)
def test_which_python_the_child_is(tmp_path, monkeypatch, executable, there, expected):
    for name in there:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", executable and str(tmp_path / executable))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert recheck.interpreter() == (expected and str(tmp_path / expected))


# what the child of a start does, and what `hook status` says --------------------------------------------------------------
FOLDER, RECORD, ENGINE = "_sitepatch_hook_x", "demo_kit-1.0.dist-info/RECORD", "patcher/__init__.py"
APPLIED = "applied two to {}; processes that are running keep the code they have loaded"


def put(site, entries, *patchsets):
    """Unpack the wheel of a hook; returns its folder."""
    content = Content(hook(*patchsets), tuple(entries), {f"{name}/patchset.toml": "x" for name in ("two", "three")})
    for name, data in hook_wheel(content)[1].items():
        (site.path / name).parent.mkdir(parents=True, exist_ok=True)
        (site.path / name).write_bytes(data)
    return f"{site}/{FOLDER}"


def state(site, did, *lines):
    """The text of the state: a line is (mark, path), or a reason."""
    signed = [f": {line}" if isinstance(line, str) else f"{line[0]} {boot.signature(f'{site}/{line[1]}')} {line[1]}" for line in lines]
    return "\n".join([f"sitepatch-hook 1 0.1.0+h123 {did}", *signed, "end", ""])


def ran(folder, mode, capfd):
    """(exit code, lines of stderr, text of the state) of the child."""
    code = repair.main(folder, mode)
    said = [line.partition("sitepatch-hook: ")[2] for line in capfd.readouterr().err.splitlines()]
    return code, said, Path(folder, "state").read_text()


def test_the_status_says_that_the_starts_of_another_user_cannot_apply_anything(site, monkeypatch):
    folder = put(site, [precomputed()])
    assert installed.look(folder).messages == ("the next start of Python applies two",)
    monkeypatch.setattr(Store, "check_writable", lambda self, paths: [f"{self.site}/{path}: belongs to user 0" for path in (*paths, N)])
    told = ("the next start of Python applies two", f"not one of user {os.geteuid()}: {site}/{M}: belongs to user 0")
    assert installed.look(folder).messages == told
    monkeypatch.setenv("SITEPATCH_HOOK", "warn")
    assert installed.look(folder).messages == ("the next start of Python warns of two",)


@pytest.mark.parametrize(("paths", "count"), [((M,), "1 file"), ((M, N), "2 files")])
def test_the_child_patches_records_and_says_it_once(site, capfd, paths, count):
    folder = put(site, [precomputed(path) for path in paths], asked(paths=paths))
    assert installed.look(folder)[1:] == ("repair", False, ("the next start of Python applies two",))
    told = state(site, "looked", ("=", RECORD), *(("!", path) for path in paths), ("=", ENGINE), f"two is not applied in {site}")
    assert ran(folder, "warn", capfd) == (1, [], told)
    assert installed.look(folder)[1:] == ("repair", False, (f"two is not applied in {site}",))
    assert (site.path / M).read_bytes() == PRISTINE and not (site.path / ".sitepatch").exists()
    code, said, text = ran(folder, "repair", capfd)
    assert (code, said, text) == (0, [APPLIED.format(count)], state(site, "tried", ("=", RECORD), *(("=", path) for path in paths)))
    assert {(site.path / path).read_bytes() for path in paths} == {PATCHED}
    assert Store(str(site)).patchset_files(DIGEST) == TEXTS
    assert list((Path(folder) / "__pycache__").iterdir()) and Path(folder, "state").stat().st_mode & 0o777 == 0o644
    assert ran(folder, "strict", capfd) == (0, [], text)
    assert installed.look(folder)[1:] == ("repair", True, ())


@pytest.mark.parametrize(
    ("answer", "mode", "reasons", "said"),
    [
        (None, "repair", [f"two: {M}: is not among the known files (here it is of demo_kit 2.0); {NEEDED}"], []),
        (other.ApplyAnswer(True, "", {}, 0), "repair", [], []),
        (other.ApplyAnswer(True, "", {}, 0), "warn", [], []),
        (other.ApplyAnswer(True, "", {}, 1), "repair", [], [APPLIED.format("1 file")]),
        (other.ApplyAnswer(True, "", {M: "other", "more.py": ""}, 1), "warn", ["two is not applied in {site}"], []),
        (other.ApplyAnswer(False, "why not", {M: "other"}, 1), "repair", ["two: why not"], []),
    ],
)
def test_what_is_not_known_is_left_to_sitepatch(site, capfd, monkeypatch, answer, mode, reasons, said):
    site.install("2.0", text=b"VALUE = 7\n")
    folder = put(site, [precomputed()])
    asks = f"two: {M}: is not among the known files (here it is of demo_kit 2.0); {NEEDED}; the next start of Python asks sitepatch"
    assert installed.look(folder)[1:] == ("repair", False, (asks,))

    def apply(*words, write):
        assert (*words, write) == (str(site), f"{folder}/patchsets", asked(), mode == "repair")
        return answer

    monkeypatch.setattr(repair, "apply_with_sitepatch", apply)
    reasons = [each.format(site=site) for each in reasons]
    said = said + reasons * (mode == "repair")
    lines = [("!", M), ("=", ENGINE), *reasons] if reasons else [("=", M)]
    text = state(site, "tried" if mode == "repair" else "looked", ("=", RECORD.replace("1.0", "2.0")), *lines)
    assert ran(folder, mode, capfd) == (1 if reasons else 0, said, text)


@pytest.mark.parametrize(
    ("code", "out", "expected"),
    [
        (77, b"", None),
        (0, b'{"ok": true, "files": [{"path": "a", "after": "1", "changes": [1]}, {"path": "b", "after": "2", "changes": []}]}',
         other.ApplyAnswer(True, "", {"a": "1", "b": "2"}, 1)),
        (1, b'{"ok": false, "error": {"message": "m", "hint": "h"}}', other.ApplyAnswer(False, "m; h", {}, 0)),
        (1, b'{"ok": false, "error": {"message": "m", "hint": ""}}', other.ApplyAnswer(False, "m", {}, 0)),
        (1, b'{"ok": false, "answers": [{"state": "applied", "path": "b", "problem": ""}, {"state": "conflict", "path": "a", "problem": "p"}]}',
         other.ApplyAnswer(False, "a: conflict: p", {}, 0)),
        (1, b'{"ok": false, "answers": []}', other.ApplyAnswer(False, "what was written failed to compile and was rolled back", {}, 0)),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("write", "more"), [(True, ["--lock-timeout", "5"]), (False, ["--dry-run"])])
def test_what_sitepatch_is_asked_and_what_it_answers(tmp_path, monkeypatch, code, out, expected, write, more):
    def run(command, *, cwd, check, stdin, capture_output, timeout):
        options = ["--set", "two.a=true", "--set", "two.b=x y"]
        words = ["apply", "two", "--target", "/site", "--patch-dir", str(tmp_path), "--json", "--quiet", "--verify", "compile"]
        assert (command[1:4], command[5:], cwd, check) == (["-I", "-B", "-c"], [*words, *options, *more], str(tmp_path), False)
        assert (stdin, capture_output) == (subprocess.DEVNULL, True)
        return subprocess.CompletedProcess(command, code, out, b"")

    monkeypatch.setattr(subprocess, "run", run)
    found = other.apply_with_sitepatch("/site", str(tmp_path), asked(a=True, b="x y"), write=write)
    assert (found._replace(problem="") if found and found.ok else found) == expected


def test_a_sitepatch_without_an_answer_is_quoted_with_its_last_line(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 3, b"", b"Traceback\nOops: x\n"))
    with pytest.raises(SitepatchError, match=r"^sitepatch could not apply two \(exit code 3\): Oops: x$"):
        other.apply_with_sitepatch("/site", str(tmp_path), asked(), write=True)


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (b"[]", "the file: found a list, expected a table"),
        (b'{"files": [{"path": "a", "after": 1, "changes": []}], "later": 1}', 'ok: found nothing, expected true or false'),
        (b'{"ok": true, "files": [{"path": "a", "after": 1, "changes": []}]}', "files[0].after: found 1, expected a string"),
    ],
)
def test_an_answer_that_is_none_is_refused_with_the_field_that_is_wrong(tmp_path, monkeypatch, out, said):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, out, b"x"))
    with pytest.raises(SitepatchError) as caught:
        other.apply_with_sitepatch("/site", str(tmp_path), asked(), write=True)
    assert caught.value.message.split("\n")[0] == f"sitepatch could not apply two (exit code 0): x: {said}"


def test_a_lock_that_is_taken_is_nothing_that_is_recorded(site, capfd, monkeypatch):
    """The next start looks again: else it would run the old code, and say nothing new."""
    site.install("2.0", text=b"VALUE = 7\n")
    folder = put(site, [precomputed()])
    busy = b'{"ok": false, "error": {"message": "pid 7 is at work", "hint": "h", "busy": true}}'
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, busy, b""))
    code, said, text = ran(folder, "repair", capfd)
    assert (code, said, text) == (1, ["two: pid 7 is at work; the next start of Python looks again"], "")
    out = b'{"ok": true, "files": []}'
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, out, b""))
    assert ran(folder, "repair", capfd)[0] == 0


def test_what_sitepatch_made_of_a_file_is_what_is_expected_there(site, capfd, monkeypatch):
    site.install("2.0", text=b"VALUE = 7\n")
    folder = put(site, [precomputed()])

    def apply(*words, write):
        site.write(b"VALUE = 9\n")
        return other.ApplyAnswer(True, "", {M: digest(b"VALUE = 9\n")}, 1)

    monkeypatch.setattr(repair, "apply_with_sitepatch", apply)
    assert ran(folder, "repair", capfd)[:2] == (0, [APPLIED.format("1 file")])


@pytest.mark.parametrize(("name", "data"), [("hook.json", None), ("kept.json", None), ("hook.json", b"{"), ("patchsets/two/patchset.toml", b"y")])
def test_a_damaged_hook_is_one_line(site, capfd, name, data):
    folder = put(site, [precomputed()])
    path = Path(folder, name)
    path.unlink() if data is None else path.write_bytes(data)
    code, (said,), text = ran(folder, "repair", capfd)
    assert code == 1 and text == "" and "; " in said
    assert (f"{path}: cannot be read: No such file or directory; install the hook again" == said) == (data is None)


@pytest.mark.parametrize(("problems", "told"), [(["m.py: no"], "m.py: no"), (["m.py: no", "n.py: no"], "m.py: no (and 1 more)")])
def test_what_cannot_be_written_is_one_line_and_only_reported_where_something_is_to_be_written(site, capfd, monkeypatch, problems, told):
    folder = put(site, [precomputed()])
    monkeypatch.setattr(Store, "check_writable", lambda store, paths: problems)
    assert ran(folder, "repair", capfd) == (1, [f"two: not applied in {site}: {told}"], "")
    assert (site.path / M).read_bytes() == PRISTINE
    site.apply(step())
    assert ran(folder, "repair", capfd)[:2] == (0, [])


@pytest.mark.parametrize(("error", "said"), [(KeyboardInterrupt(), []), (ValueError("x"), [f"{FOLDER}: ValueError: x"])])
def test_whatever_happens_in_the_child_is_one_line_at_most(site, capfd, monkeypatch, error, said):
    monkeypatch.setattr(repair, "classify_targets", lambda *_: (_ for _ in ()).throw(error))
    assert ran(put(site, [precomputed()]), "repair", capfd) == (1, said, "")


def test_where_the_state_cannot_be_written_the_child_says_what_the_next_start_could_not_read(site, capfd):
    folder = put(site, [precomputed()])
    Path(folder, "state").unlink()
    Path(folder, "state").mkdir()
    assert repair.main(folder, "warn") == 1
    assert capfd.readouterr().err == f"sitepatch-hook: two is not applied in {site}\n"


def interrupt(site):
    """Leave what a run that was killed before its commit point leaves."""
    entry = {"path": N, "action": "write", "old": digest(PRISTINE), "new": digest(PATCHED), "link": "", "receipt": ""}
    (site.path / ".sitepatch").mkdir()
    (site.path / ".sitepatch/journal.json").write_text(
        json.dumps({"format": 1, "sitepatch": "0", "phase": "preparing", "files": [entry]})
    )


def after_the_first_look(monkeypatch, action):
    """Let somebody else do `action` between the first look of a hook and what follows from it."""
    actions = [action]

    def look(*words):
        found = classify_targets(*words)
        if actions:
            actions.pop()()
        return found

    monkeypatch.setattr(repair, "classify_targets", look)


@pytest.mark.parametrize("meanwhile", [False, True])
def test_an_interrupted_run_is_recovered_and_reported_before_files_are_looked_at(site, capfd, monkeypatch, meanwhile):
    folder = put(site, [precomputed()])
    if meanwhile:
        after_the_first_look(monkeypatch, lambda: interrupt(site))
    else:
        interrupt(site)
        assert ran(folder, "warn", capfd)[:2] == (1, [])
        assert (site.path / ".sitepatch/journal.json").exists()
    code, (first, second), _ = ran(folder, "repair", capfd)
    assert (code, second) == (0, APPLIED.format("1 file"))
    assert first.startswith(f"{site}: an interrupted run was undone")


def test_what_another_process_recovers_meanwhile_is_not_reported(site, capfd, monkeypatch):
    monkeypatch.setattr(Store, "interrupted", lambda store: "an interrupted run will be undone")
    assert ran(put(site, [precomputed()]), "repair", capfd)[:2] == (0, [APPLIED.format("1 file")])


def test_a_file_that_is_changed_after_it_was_looked_at_is_looked_at_again(site, capfd, monkeypatch):
    folder = put(site, [precomputed()])
    ran(folder, "repair", capfd)
    after_the_first_look(monkeypatch, lambda: site.write(PATCHED.replace(b"2", b"3")))
    code, (said,), text = ran(folder, "repair", capfd)
    assert code == 1 and "the file was changed after it was patched" in said and said in text


def test_what_changes_again_and_again_is_left_to_the_next_start_before_long(site, capfd, monkeypatch):
    pauses = []
    monkeypatch.setattr(repair.time, "sleep", pauses.append)
    monkeypatch.setattr(repair, "repair", lambda *_, **__: (_ for _ in ()).throw(OutdatedError("x")))
    told = f"{site}: somebody keeps changing files there; the next start of Python looks again"
    assert ran(put(site, [precomputed()]), "repair", capfd) == (1, [told], "")
    assert len(pauses) > 1 and 0.1 < sum(pauses) < 2, "seconds"


@pytest.mark.parametrize(
    ("recorded", "after", "mtime", "waited"),
    [
        (False, b"VALUE = 2\n", 7, 1.0),
        (False, b"VALUE = 2\n", 2_000_000_000, 4.0),  # no longer, whatever the file says
        (True, b"VALUE = 2\n", 7, 0.0),  # its RECORD tells of a reinstall
        (False, b"VALUE = 22\n", 7, 0.0),  # as does its size
        (False, None, 7, 0.0),
        (False, PRISTINE, 7, 0.0),
    ],
)
def test_until_a_reinstall_would_show_it_waits(site, capfd, monkeypatch, recorded, after, mtime, waited):
    if not recorded:
        (site.path / RECORD).unlink()
    steps = (step(new=after[8:-1]),) if after not in (None, PRISTINE) else ()
    folder = put(site, [precomputed(after=after or PATCHED, steps=steps, exact=False)], asked(paths=(M,)))
    os.utime(f"{site}/{M}", (mtime, mtime))
    if after is None:
        (site.path / M).unlink()
    clock = [1_700_000_000.0]
    monkeypatch.setattr(repair.time, "time", lambda: clock[0])
    monkeypatch.setattr(repair.time, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    assert ran(folder, "repair", capfd)[0] == 0
    assert clock[0] - 1_700_000_000 == pytest.approx(waited, abs=0.1)


def test_what_hook_status_says_of_a_hook(site, monkeypatch):
    folder = put(site, [precomputed()])
    (site.path / "sitepatch_hook_x.pth").rename(site.path / "x")
    Path(folder, "state").write_text("?")
    first, second, third = installed.look(folder).messages
    assert first == "its .pth file is gone: it does not run; install it again"
    assert second.startswith("its state file: ") and second.endswith("; the next start of Python makes a new one")
    assert third == "the next start of Python applies two"
    (site.path / "x").rename(site.path / "sitepatch_hook_x.pth")
    Path(folder, "state").write_text("")
    monkeypatch.setenv("SITEPATCH_HOOK", "warn")
    assert installed.look(folder)[1:] == ("warn", False, ("the next start of Python warns of two",))
    monkeypatch.setenv("SITEPATCH_HOOK", "off")
    assert installed.look(folder)[1:3] == ("off", False) and installed.look(folder).messages[0] == "SITEPATCH_HOOK=off: it does nothing"
    monkeypatch.delenv("SITEPATCH_HOOK")
    site.write(b"VALUE = 8\n")
    found = installed.look(folder)
    assert not found.good and "somebody edited it" in "".join(found.messages)
    site.write(PRISTINE)
    site.apply(step())
    site.write(PATCHED + b"# mine\n")
    assert "the file was changed after it was patched" in "".join(installed.look(folder).messages)
    (site.path / "demo").rename(site.path / "gone")
    assert installed.look(folder)[2:] == (True, (f"demo is not installed in {site}; elsewhere it is not looked at",))


def test_a_hook_is_found_and_removed(site):
    before = sorted(path.relative_to(site.path).as_posix() for path in site.path.rglob("*"))
    folder = put(site, [precomputed()])
    (site.path / "_not_a_hook").mkdir()
    shutil.copytree(folder, f"{site}/not_a_hook")
    env = Environment.alone(str(site))._replace(sites=("/nowhere", str(site)))
    assert places.folders(env) == [folder]
    assert places.keeping(env, ["one", "two"]) == ["sitepatch-hook-x"] and places.keeping(env, ["one"]) == []
    (site.path / "sitepatch_hook_x.start").unlink()
    installed.delete_hook(load_hook(folder))
    (site.path / "_not_a_hook").rmdir()
    shutil.rmtree(f"{site}/not_a_hook")
    assert places.folders(env) == []
    assert sorted(path.relative_to(site.path).as_posix() for path in site.path.rglob("*")) == before


def test_a_damaged_hook_does_not_keep_another_from_being_removed(site):
    folder = put(site, [precomputed()])
    shutil.copytree(folder, f"{site}/_sitepatch_hook_a_b")
    (site.path / "_sitepatch_hook_a_b/hook.json").write_text("{")
    place = Place(target=str(site))
    with pytest.raises(StoreError, match=r"_sitepatch_hook_a_b/hook\.json: is not the JSON that sitepatch writes"):
        remove_hook(place, "sitepatch-hook-a-b")
    with pytest.raises(UsageError, match="found 2 hooks"):
        remove_hook(place, None)
    assert [each.folder for each in remove_hook(place, "sitepatch-hook-x")] == [folder]
    assert places.folders(Environment.alone(str(site))) == [f"{site}/_sitepatch_hook_a_b"]


def test_a_hook_that_cannot_be_removed_says_why(site, monkeypatch):
    found = load_hook(put(site, [precomputed()]))

    def rmtree(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(installed.shutil, "rmtree", rmtree)
    with pytest.raises(SitepatchError, match=r"^sitepatch-hook-x could not be removed: .*Permission denied"):
        installed.delete_hook(found)


# what a hook carries ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda top: top["patchsets"][0]["paths"][0].update(paths=["../x.py"]), r"patchsets\[0\].paths\[0\].paths\[0\]: found .*, expected a path below a site"),
        (lambda top: top["patchsets"][0]["paths"][0].update(more=1), "more"),
        (lambda top: top["patchsets"][0].update(more=1), "more"),
        (lambda top: top.update(more=1), "more"),
    ],
)
def test_a_forged_hook_is_refused(change, told):
    top = json.loads(write_hook(hook(asked(level=1))))
    assert read_hook(json.dumps(top).encode(), "hook.json") == hook(asked(level=1))
    change(top)
    with pytest.raises(StoreError, match=told):
        read_hook(json.dumps(top).encode(), "hook.json")


def test_a_forged_list_of_changes_is_refused():
    top = json.loads(write_precomputed([precomputed()], {"two": DIGEST}))
    assert read_precomputed(json.dumps(top).encode(), "kept.json") == ((precomputed(),), {"two": DIGEST})
    for table in (top["files"][0], top):
        table["more"] = 1
        with pytest.raises(StoreError, match="more"):
            read_precomputed(json.dumps(top).encode(), "kept.json")
        del table["more"]


def test_the_texts_of_another_patchset_than_the_one_it_was_made_with_are_refused(tmp_path):
    (tmp_path / "two").mkdir()
    (tmp_path / "two/patchset.toml").write_bytes(b"\xef\xbb\xbfx")
    assert read_texts(str(tmp_path), asked()) == TEXTS
    (tmp_path / "two/patchset.toml").write_text("y")
    with pytest.raises(StoreError, match="is not the patchset that the hook was made with"):
        read_texts(str(tmp_path), asked())
    (tmp_path / "two/patchset.toml").unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        read_texts(str(tmp_path), asked())
