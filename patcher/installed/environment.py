"""Where an interpreter would import a package from, and which of its files can be patched.

Reads only, imports no package.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import Callable, Iterator, Sequence
from zipimport import ZipImportError, zipimporter

from patcher.errors import AbsentError, Location, SitepatchError
from patcher.installed.distribution import Distributions, Owner, origin
from patcher.installed.interpreter import Environment, active
from patcher.installed.record import recorded_sources
from patcher.message import Message
from patcher.model import Located
from patcher.record import Record
from patcher.system.reading import is_directory, is_file, is_inside, read_file
from patcher.text.listed import listed, nearest, normalized, release_name


# packages -------------------------------------------------------------------------------------
def locate(env: Environment, package: str, files: Sequence[str] = ()) -> Located:
    """Where the interpreter would import `package` from, and which distribution and version it is.

    Args:
        env: the environment.
        package: the import package, without dots.
        files: paths (`/`, relative to the site directory) that are meant: they tell several
            owners of a package apart.

    Raises:
        AbsentError: not installed.
        SitepatchError: of the standard library, in a zip, editable, left over from an uninstall,
            or of two distributions.
    """
    return Locator(env).locate(package, files)


class Locator:
    """Locates packages of one environment, which does not change meanwhile.

    What several questions have in common is looked up once.
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._homes: dict[str, _Home] = {}
        self._installed: dict[str, Distributions] = {}
        self._libraries = [str(Path(os.__file__).parent)]
        self._libraries += [place for place in env.search if _holds(place, "os")]

    def is_there(self, package: str) -> bool:
        """Whether anything has the name of a package, be it one that can be patched or not."""
        places = (place for place in self._env.search if _holds(place, package))
        return any(places) or bool(_namespace_place(self._env, package))

    def locate(self, package: str, files: Sequence[str] = ()) -> Located:
        """What `patcher.installed.environment.locate` says."""
        if package not in self._homes:
            self._homes[package] = self._home(package)
        home = self._homes[package]
        if home.site not in self._installed:
            self._installed[home.site] = Distributions(Path(home.site))
        owned = self._installed[home.site].owner(package, files)
        if not owned.recorded:
            is_remnant = not home.places and not self._is_targeted
            _refuse_unrecorded(self._env, package, home.site, is_remnant=is_remnant)
        return Located(
            package,
            home.site,
            distribution=owned.name,
            version=owned.version,
            dist_info=owned.dist_info,
            notes=tuple(_notes(package, home.places, owned)),
            recorded=owned.recorded,
        )

    @property
    def _is_targeted(self) -> bool:
        return self._env.search == self._env.sites and len(self._env.sites) == 1

    def _home(self, package: str) -> _Home:
        """Where a package is imported from; raises as `locate`."""
        env = self._env
        if self._is_stdlib(package):
            raise SitepatchError(
                "{package} belongs to the standard library, which is not patched", package=package
            )
        places = [place for place in env.search if _holds(place, package)]
        _refuse_archive(env, package, places)
        site = places[0] if places else _namespace_place(env, package)
        if not self._is_targeted and not (places and site in env.sites):
            _refuse_editable(env, package)
        if not site:
            where = env.sites[0] if env.sites else env.python
            raise AbsentError(
                "{package} is not installed in {where}",
                _similar(env, package),
                package=package or '""',
                where=where,
            )
        return _Home(site, places)

    def _is_stdlib(self, package: str) -> bool:
        if package in sys.builtin_module_names:
            return True
        return any(_holds(library, package) for library in self._libraries)


class _Home(Record):
    """The site directory of a package, and every place that has it, as they are searched."""

    site: str
    places: Sequence[str]


def _holds(place: str, package: str) -> bool:
    return is_file(f"{place}/{package}/__init__.py") or is_file(f"{place}/{package}.py")


def _namespace_place(env: Environment, package: str) -> str:
    """The first site directory with a folder of the package; empty if there is none."""
    for site in env.sites if package.isidentifier() else ():  # "" and ".." are other folders
        if is_directory(f"{site}/{package}"):
            return site
    return ""


def _refuse_archive(env: Environment, package: str, places: Sequence[str]) -> None:
    """Refuse a package that is imported from an archive, before any of `places`."""
    for place in env.search:
        if places and place == places[0]:
            return
        if _archive_holds(place, package):
            raise SitepatchError(
                "{package} lies inside the archive {archive}",
                Message("install it with pip, which unpacks it"),
                package=package,
                archive=place,
            )


def _archive_holds(place: str, package: str) -> bool:
    if not is_file(place):
        return False
    try:
        zipimporter(place).is_package(package)
    except ZipImportError:  # it does not, or is no archive, which the interpreter skips, too
        return False
    return True


def _refuse_unrecorded(env: Environment, package: str, site: str, *, is_remnant: bool) -> None:
    """Refuse a package of no distribution: the remnant of one, or one outside of all sites."""
    if is_remnant:
        raise SitepatchError(
            "{path} has no __init__.py and no RECORD lists it: it is left over from an uninstall",
            Message("remove that directory, then install {package} again", package=package),
            path=Path(site) / package,
        )
    if site not in env.sites:
        raise SitepatchError(
            "{package} is imported from {site}, which is no site directory",
            "use --target {site}",
            package=package,
            site=site,
        )


def _notes(package: str, places: Sequence[str], owned: Owner) -> list[str]:
    notes: list[str] = []
    if len(places) > 1:
        note = Message(
            "{package} is found twice: in {place}; {site} comes first and is patched",
            package=package,
            place=listed(places, "in"),
            site=places[0],
        )
        notes.append(note)
    if owned.note:
        notes.append(owned.note)
    return notes


def _similar(env: Environment, package: str) -> str:
    """A hint about a package that is not installed.

    It names what a distribution of that name is imported as, or similar names.
    """
    alternative = Message("or name another environment with --python or --target")

    if not active() and sysconfig.get_path("purelib") in env.sites:
        alternative = Message(
            "or name the environment that you patch, this is the one that sitepatch runs in: "
            "--python PATH or --target DIR"
        )
    entries: list[Path] = []
    for site in map(Path, env.sites):
        if site.is_dir():
            entries += site.iterdir()

    for entry in entries:
        name = entry.name.split("-")[0]
        if entry.suffix != ".dist-info" or normalized(name) != normalized(package):
            continue
        modules = _top_modules(entry)
        if modules and package not in modules:
            return Message(
                "the distribution {package} is imported as {modules}: name that; {other}",
                package=package,
                modules=listed(modules, "or"),
                other=alternative,
            )

    names = {entry.name.split(".")[0] for entry in entries}
    near = nearest(package, sorted(filter(str.isidentifier, names)), 3, 0.7)
    if not near:
        return Message("install it, {other}", other=alternative)
    return Message("did you mean {names}? {other}", names=listed(near, "or"), other=alternative)


def _top_modules(dist_info: Path) -> list[str]:
    """The names that a distribution is imported as, by its RECORD."""
    modules = set()
    for row in recorded_sources(dist_info):
        top = row.path.split("/")[0]
        if top.endswith(".py"):
            top = top[: -len(".py")]
        if top.isidentifier():
            modules.add(top)
    return sorted(modules)


# editable installs ----------------------------------------------------------------------------
def _refuse_editable(env: Environment, package: str) -> None:
    editable = _editable(env, package)
    if editable:
        raise SitepatchError(
            "{package} is an editable install; its files lie in {editable}",
            "to patch the checkout itself: --target {editable}",
            package=package,
            editable=editable,
        )


def _editable(env: Environment, package: str) -> str:
    """The directory that an editable install of `package` points to, empty if there is none."""
    for site in map(Path, env.sites):
        if not site.is_dir():
            continue
        for directory in _pointers(site, package):
            for source in (directory, directory / "src"):
                if (source / package).is_dir() or (source / f"{package}.py").is_file():
                    return str(source)
    return ""


def _pointers(site: Path, package: str) -> Iterator[Path]:
    """The directories that editable installs of a site directory point to.

    Each installer has a format of its own.
    """
    for path in sorted(site.iterdir()):
        if _is_path_file(path):
            for line in map(str.strip, _lines(path)):
                # an unpacked egg is installed
                if line and not line.startswith("import") and not line.endswith(".egg"):
                    yield site / line
        elif path.name.startswith("__editable__") and path.suffix == ".py":
            entry = rf"""["']{re.escape(package)}["']\s*:\s*(["'])(.+?)\1"""
            match = re.search(entry, "\n".join(_lines(path)))
            if match:
                yield Path(match.group(2)).parent
        elif path.suffix == ".dist-info":
            source = origin(path)
            if source.editable and source.path:
                yield source.path


def _is_path_file(path: Path) -> bool:
    if path.suffix == ".egg-link":
        return True
    return path.suffix == ".pth" and path.name.startswith(("__editable__", "easy-"))


def _lines(path: Path) -> list[str]:
    try:
        return read_file(path).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


# files ----------------------------------------------------------------------------------------
def find_file(located: Located, paths: Sequence[str]) -> tuple[str, ...]:
    """Which of the alternative places of a file exist, as given.

    Args:
        located: the package.
        paths: `/`-separated, relative to the site directory.

    Raises:
        SitepatchError: a path leaves the package, a directory on the way is a link out of the
            site directory, or a file is a link to none, as where uv's cache was cleaned.
    """
    existing = []
    for path in paths:
        _check_inside(located, path)
        file = Path(located.site, path)
        if file.is_file():
            existing.append(path)
        elif file.is_symlink():
            raise SitepatchError.at(
                Location(path),
                "is a link to {to}, which is not there",
                Message("install {package} again", package=located.package),
                to=os.readlink(file),
            )
    return tuple(existing)


def _check_inside(located: Located, path: str) -> None:
    """Refuse a path that leaves the package, or leads through a link out of the site directory."""
    folders = path.split("/")[:-1]
    parts = path.split("/")
    inside = parts[0] in (located.package, f"{located.package}.py")
    plain = not {"", ".", ".."} & set(parts) and "\\" not in path and "\0" not in path
    if not inside or not plain:
        raise SitepatchError.at(
            Location(path), "found a path outside the package {package}", package=located.package
        )
    directory = Path(located.site)
    for folder in folders:
        directory /= folder
        if directory.is_symlink() and not is_inside(directory, located.site):
            raise SitepatchError.at(
                Location(path),
                "{directory} is a link to {to}, outside the site directory",
                Message("patch it there: --target with the directory that holds the package"),
                directory=directory,
                to=os.path.realpath(directory),
            )


def nearest_file(located: Located, path: str) -> str:
    """The Python file whose path is most similar to that of a missing one; empty for none.

    It is one of the same directory, else of the package.
    """
    site = Path(located.site)
    folder, _, name = path.rpartition("/")
    searches = ((site / folder, "*.py", 0.6), (site / located.package, "**/*.py", 0.8))
    for top, pattern, least in searches:
        files = sorted(top.glob(pattern))
        stems = {file.stem for file in files} - {"__init__"}
        near_stem = nearest(name[: -len(".py")], sorted(stems), 1, least)
        near = []
        for file in files:
            if file.stem in near_stem:
                near.append(file.relative_to(site).as_posix())
        if near:
            return nearest(path, near, 1, 0)[0]
    return ""


def check_not_shared(located: Located, path: str, env: Environment) -> None:
    """Refuse a file that a virtual environment shares with its base or with other environments.

    Raises:
        SitepatchError: the site directory is one of `env.outer`.
    """
    if located.site not in env.outer:
        return
    hint = Message(
        "install {package} into the environment, or patch it there, "
        "for all who use it, with --system",
        package=located.package,
    )
    for folder in Path(located.site).parents:
        if (folder / "pyvenv.cfg").is_file():
            hint = Message(
                "if {other} is the environment that is meant: --python {other}", other=folder
            )
            break
    raise SitepatchError(
        "{path} is not of this virtual environment: {what} lies in {site}, which others share",
        hint,
        path=path,
        what=release_name(located.package, located.distribution, located.version),
        site=located.site,
    )


# what is imported in the place of a file ------------------------------------------------------
def compiled_modules(directory: str) -> list[str]:
    """The names of the compiled modules in a directory.

    Raises:
        OSError: it cannot be read.
    """
    names = (path.name for path in Path(directory).iterdir())
    return sorted(name for name in names if name.endswith((".so", ".pyd")))


def blocker(
    located: Located,
    path: str,
    env: Environment,
    compiled: Callable[[str], Sequence[str]] = compiled_modules,
) -> str | None:
    """Why a change of this file would have no effect on what is imported; None if it has one.

    A compiled module beside the source is imported first (black and charset_normalizer ship such
    pairs), and so is a package directory of the same name; the standard library is frozen into
    the interpreter from 3.11 on.

    Args:
        located: the package.
        path: `/`-separated, relative to the site directory.
        env: the environment.
        compiled: lists the compiled modules of a directory; who asks about many files gives one
            that lists each directory once.
    """
    if is_file(f"{located.site}/os.py"):
        return Message(
            "{path} belongs to the standard library, "
            "parts of which are frozen into the interpreter",
            path=path,
        )
    if not path.endswith(".py"):
        return None
    module = path[: -len(".py")]
    if is_file(f"{located.site}/{module}/__init__.py"):
        return Message(
            "{path} is not what is imported: the package {name}/ comes first",
            path=path,
            name=module,
        )
    folder, _, stem = f"{located.site}/{module}".rpartition("/")
    for name in compiled(folder):
        if _is_imported_first(name, stem, env):
            return Message(
                "{path} is not what is imported: the compiled {twin} beside it comes first",
                path=path,
                twin=name,
            )
    return None


def _is_imported_first(name: str, stem: str, env: Environment) -> bool:
    """Whether a compiled module is that of `stem`, for the interpreter of the environment."""
    suffix = re.fullmatch(rf"{re.escape(stem)}\.(?:([^.]+)\.)?(?:so|pyd)", name)
    if not suffix:
        return False
    version = re.match(r"(?:cpython-|cp)(\d)(\d+)", suffix.group(1) or "")
    if not version:
        return True  # for any interpreter
    return (int(version[1]), int(version[2])) == env.version
