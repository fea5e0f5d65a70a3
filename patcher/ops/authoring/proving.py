"""The further releases that a new patchset should hold for, and the proof of what it does to them and to what is installed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Set, Tuple

from patcher.author.changed import python_files
from patcher.author.draft import Draft, FileEdit
from patcher.author.folder import Head, PackageRange, patchset_files
from patcher.author.hunks.trial import same_code
from patcher.author.ranges import proven_range
from patcher.engine.engine import rewrite
from patcher.errors import Location, SitepatchError, UsageError
from patcher.installed.environment import locate
from patcher.installed.interpreter import discover
from patcher.installed.record import recorded_sources
from patcher.installed.versions import is_version
from patcher.message import Message, joined, one_line
from patcher.model import FilePatch, Located, Patchset, PatchsetSource, Requested, State
from patcher.patchset.layers import rewrite_layers
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.system.reading import read_file
from patcher.text.listed import listed
from patcher.verbs.place import Events
from patcher.verbs.releases.against import named_releases, try_release
from patcher.verbs.releases.outcome import APPLICABLE, HOLDS, ReleaseOutcome


class Release(NamedTuple):
    """A further release of a package: where its files are, and the texts of those that the patchset changes, by path.

    If one of those is missing, the texts of all Python files of the package.
    """

    located: Located
    texts: Mapping[str, bytes]


# further releases -----------------------------------------------------------------------------------------------------
def by_package(files: Iterable[Tuple[Located, str]]) -> Dict[Located, Set[str]]:
    """The packages of files, and which files of each.

    Raises:
        SitepatchError: the files of a package belong to several distributions, each with versions of its own.
    """
    found: Dict[Located, Set[str]] = {}
    for located, path in files:
        found.setdefault(located, set()).add(path)
    for package in {located.package for located in found}:
        names = sorted({located.distribution for located in found if located.package == package})
        if len(names) > 1:
            what = Message(
                "what was changed in {package} belongs to several distributions: {names}", package=package, names=listed(names)
            )
            raise SitepatchError(what, "make a patchset for each of them")
    return found


def check_also(also: Sequence[str]) -> None:
    """Check that each text is a release (`1.2`, `NAME==1.2`) or a directory.

    Raises:
        UsageError: for all that are neither.
    """
    wrong = [text for text in also if not (_version(text) or Path(text).is_dir())]
    if wrong:
        lines = [Message("--also {text}: found no such directory and no version", text=text) for text in wrong]
        raise UsageError(joined("\n", lines), "name a release (1.2, NAME==1.2), or a directory of packages")


def _version(text: str) -> str:
    version = text.rpartition("==")[2]
    return version if is_version(version) and not Path(text).is_dir() else ""


def further_releases(
    also: Sequence[str], homes: Mapping[Located, Set[str]], events: Events
) -> Tuple[List[Release], List[str]]:
    """The named releases, and a message for each that cannot be fetched.

    Args:
        also: releases and directories, checked by `check_also`.
        homes: the installed packages, each with the files that the patchset changes.
        events: reports the progress.

    Raises:
        NoPip: pip is missing or too old.
    """
    found: List[Release] = []
    problems: List[str] = []
    for text in (each for each in also if Path(each).is_dir()):
        env = discover(None, text)
        for home, paths in homes.items():
            try:
                found.append(_release(locate(env, home.package, sorted(paths)), paths))
            except SitepatchError as error:
                problems.append(Message("--also {text}: {message}", text=text, message=error.message))
    names = {name for home in homes for name in ("", home.distribution, home.package)}
    idle = [text for text in also if _version(text) and text.rpartition("==")[0] not in names]
    problems += [Message("--also {text}: no file of it is changed", text=text) for text in idle]
    for home, paths in homes.items():
        name = home.distribution or home.package
        versions = [_version(text) for text in also if _version(text) and text.rpartition("==")[0] in ("", name, home.package)]
        if not versions:
            continue
        kept = named_releases({name: paths}, versions, events)
        for (_, version), folder in kept.items():
            if not isinstance(folder, SitepatchError) and not all((folder / path).is_file() for path in paths):
                every = {row.path for info in folder.glob("*.dist-info") for row in recorded_sources(info)}
                inside = {path for path in every if path.startswith(f"{home.package}/")}
                folder = named_releases({name: paths | inside}, [version], events)[name, version]
            if isinstance(folder, SitepatchError):
                problems.append(
                    Message("{name} {version}: {reason}", name=name, version=version, reason=one_line(folder.message))
                )
            else:
                found.append(_release(home._replace(site=str(folder), version=version), paths))
    return found, problems


def _release(located: Located, paths: Set[str]) -> Release:
    files = {path: Path(located.site) / path for path in sorted(paths)}
    if not all(file.is_file() for file in files.values()):  # one moved, and is found by its code
        files.update((path, Path(located.site) / path) for path in python_files(located.site, located.package))
    return Release(located, {path: read_file(file) for path, file in files.items() if file.is_file()})


# the proof ------------------------------------------------------------------------------------------------------------
def trial_patchset(folder: Path, head: Head, draft: Draft, homes: Sequence[Located]) -> Patchset:
    """The patchset of a draft, for any release; nothing is written.

    Raises:
        PatchError: it is invalid.
    """
    return _trial(folder, partial(patchset_files, head, draft), homes)


def _trial(folder: Path, files: Callable[[Sequence[PackageRange]], Dict[str, str]], homes: Sequence[Located]) -> Patchset:
    texts = files([PackageRange(home.package, home.distribution, "") for home in homes])
    return load_patchset(folder, PatchsetSource(str(folder)), {MANIFEST: "", **texts})


def made_here(edit: FileEdit, draft: Draft, trial: Patchset) -> bytes:
    """The file as the patchset makes it: the edited file, or the same code, without what the draft leaves out.

    Raises:
        SitepatchError: it makes something else.
    """
    made, bad = _rewritten(edit.path, edit.before, trial)
    (file,) = (each for each in draft.files if each.paths[0] == edit.path)
    if bad or not (file.left_out or made == edit.after or same_code(made, edit.after, anywhere=True)):
        what = Message("the hunks do not make the edited file: {reason}", reason=bad or Message("other code comes of them"))
        raise SitepatchError.at(Location(edit.path), what, "write the patchset by hand: see docs/howto/change.md")
    return made


def made_there(trial: Patchset, release: Release, expected: Mapping[str, bytes]) -> ReleaseOutcome:
    """What the patchset does to another release.

    Args:
        trial: the patchset.
        release: the release.
        expected: the files that it must make there, by path, as far as they are known.
    """
    found = try_release(Requested(trial, {}), release.located)
    for path, right in expected.items() if found.word == APPLICABLE else ():
        made, _ = _rewritten(path, release.texts[path], trial)
        if not same_code(made, right, anywhere=True):
            problem = Message("{path}: other code comes of it than of the diff", path=path)
            return found._replace(word=State.CONFLICT.value, places=(), diffs=(), problem=problem)
    return found


class Proof(NamedTuple):
    """A patchset that is not written yet: for any release, what it does to the further ones, its texts, and its ranges."""

    trial: Patchset
    releases: Tuple[ReleaseOutcome, ...]
    texts: Dict[str, str]
    targets: Tuple[PackageRange, ...]


def prove_draft(
    folder: Path, head: Head, draft: Draft, homes: Sequence[Located], releases: Iterable[Tuple[Release, Mapping[str, bytes]]]
) -> Proof:
    """Try a draft on further releases, as `prove`."""
    return prove(folder, partial(patchset_files, head, draft), homes, releases)


def prove(
    folder: Path,
    files: Callable[[Sequence[PackageRange]], Dict[str, str]],
    homes: Sequence[Located],
    releases: Iterable[Tuple[Release, Mapping[str, bytes]]],
) -> Proof:
    """Try a patchset, whose texts `files` gives for ranges, on further releases; its ranges are those for which it is proven.

    Each of `releases` comes with the files that the patchset must make there, by path, as far as they are known.

    Raises:
        PatchError: it is invalid.
    """
    trial, packages = _trial(folder, files, homes), [home.package for home in homes]
    tried = tuple(made_there(trial, one, expected) for one, expected in releases if one.located.package in packages)
    targets = tuple(_proven(home, tried) for home in homes)
    return Proof(trial, tried, files(targets), targets)


def _proven(home: Located, tried: Sequence[ReleaseOutcome]) -> PackageRange:
    """The installed package, with the range of releases for which the outcomes prove the patchset."""
    mine = [each for each in tried if each.distribution == home.distribution]
    proven = [each.version for each in mine if each.word in HOLDS]
    failed = [each.version for each in mine if each.word not in HOLDS]
    return PackageRange(home.package, home.distribution, proven_range([home.version, *proven], failed))


def _rewritten(path: str, text: bytes, trial: Patchset) -> Tuple[bytes, str]:
    """A text with the hunks for its path, and why some cannot be applied, "" for none."""
    return with_patches(path, text, [patch for variant in trial.variants for patch in variant.patches])


def with_patches(path: str, text: bytes, patches: Sequence[FilePatch]) -> Tuple[bytes, str]:
    """A text with the hunks for its path, and why some cannot be applied, "" for none."""
    hunks = [hunk for patch in patches if path in patch.paths for hunk in patch.hunks]
    made = rewrite_layers(text, hunks, lambda data, layer: rewrite(data, layer, {}))
    return made.data, joined("; ", (one_line(answer.problem) for answer in made.answers if answer.state.failed))
