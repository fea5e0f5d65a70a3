"""Releases that the index has as source alone, laid out in the cache as an installer would: `check --against` reads wheels.

    SITEPATCH_CACHE=DIR python -m tests.sources NAME...

Nothing is built: the packages that are patched so lie at the top of their archives, or in src/, and of those the files that a
patchset names are kept, and the RECORD lists all of them. After it `check NAME --against all` answers for these releases, too.
"""

import hashlib
import io
import re
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Tuple

from pip._internal.commands import create_command

from patcher.installed.versions import accepts, canonical
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.variants import paths_of, targets_of
from patcher.system.cache import cache_dir
from patcher.text.listed import normalized
from tests.records import with_record, write_files

SUFFIXES = (".tar.gz", ".zip", ".tar.bz2")


def sources(finder: Any, distribution: str) -> Dict[str, Any]:
    """{version: link} of the releases of a distribution that have no wheel."""
    links: Dict[str, List[Any]] = {}
    for candidate in finder.find_all_candidates(distribution):
        links.setdefault(canonical(str(candidate.version)), []).append(candidate.link)
    return {
        version: found[0] for version, found in links.items()
        if not any(link.is_wheel for link in found) and found[0].filename.endswith(SUFFIXES)
    }  # fmt: skip


def members(name: str, data: bytes) -> Iterator[Tuple[str, bytes]]:
    """The files of an archive below its one folder."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for each in archive.infolist():
                if not each.is_dir():
                    yield each.filename.partition("/")[2], archive.read(each)
        return
    with tarfile.open(fileobj=io.BytesIO(data)) as source:
        for member in source:
            if member.isfile():
                yield member.name.lstrip("./").partition("/")[2], source.extractfile(member).read()  # type: ignore[union-attr]


def paths_of_all() -> Dict[str, Set[str]]:
    """{distribution: files} of all built-in patchsets: `check --against` asks for all of them, whichever is named."""
    paths: Dict[str, Set[str]] = {}
    for path in Path(builtin_dir()).glob("*/patchset.toml"):
        for _, distribution, variants in targets_of(load_patchset(path.parent, BUILT_IN)):
            paths.setdefault(distribution, set()).update(paths_of(variants))
    return paths


def main(names: List[str]) -> None:
    """Fetch what is not there yet."""
    every = paths_of_all()
    command: Any = create_command("download")
    with command.main_context():
        options, _ = command.parse_args(["--quiet", "--disable-pip-version-check", "--no-binary", ":none:", "--ignore-requires-python"])
        session = command._build_session(options)
        finder = command._build_package_finder(options=options, session=session, ignore_requires_python=True)
        for name in names:
            for _, distribution, variants in targets_of(load_patchset(Path(builtin_dir()) / name, BUILT_IN)):
                paths = every[distribution]
                for version, link in sources(finder, distribution).items():
                    home = cache_dir() / normalized(distribution) / version
                    marker = hashlib.sha256(f"{link.filename} {sorted(paths)}".encode()).hexdigest()[:16]
                    if not any(accepts(variant.versions, version) for variant in variants) or (home / marker).exists():
                        continue
                    answer = session.get(link.url_without_fragment)
                    answer.raise_for_status()
                    files = {re.sub("^src/", "", path): text for path, text in members(link.filename, answer.content)}
                    release = with_record(distribution, version, files)
                    kept = {path: text for path, text in release.items() if path in paths or ".dist-info/" in path}
                    write_files(home / marker, kept)
                    print(f"{distribution} {version}: {', '.join(sorted(set(paths) & set(kept))) or 'none of the files'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
