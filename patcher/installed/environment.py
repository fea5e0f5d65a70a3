"""Where an interpreter would import a package from, and which of its files can be patched. Reads only, imports no target."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Callable, Iterator, Sequence

from patcher.errors import AbsentError, Location, SitepatchError
from patcher.installed.distribution import origin, owner
from patcher.installed.interpreter import Environment
from patcher.installed.record import recorded_sources
from patcher.message import Message
from patcher.model import Located
from patcher.system.reading import is_inside, read_file
from patcher.text.listed import listed, nearest, normalized, release_name


def locate(env: Environment, package: str, files: Sequence[str] = ()) -> Located:
    """Where the interpreter would import `package` from, and which distribution and version that is.

    Args:
        env: the environment.
        package: the import package, without dots.
        files: paths (`/`, relative to the site directory) that are meant: they tell several owners of a package apart.

    Raises:
        AbsentError: not installed.
        SitepatchError: of the standard library, in a zip, editable, left over from an uninstall, or of two distributions.
    """
    targeted = env.search == env.sites and len(env.sites) == 1
    if _is_stdlib(package, env):
        raise SitepatchError(
            "{package} belongs to the standard library, which is not patched", package=package
        )
    places = [place for place in env.search if _holds(place, package)]
    loose = [
        place
        for place in env.sites
        if os.path.isdir(os.path.join(place, package)) and place not in places
    ]
    zipped = [place for place in env.search if _zip_holds(place, package)]
    if zipped and (not places or env.search.index(zipped[0]) < env.search.index(places[0])):
        template = "{package} lies inside the archive {archive}"
        raise SitepatchError(
            template,
            Message("install it with pip, which unpacks it"),
            package=package,
            archive=zipped[0],
        )
    site = places[0] if places else loose[0] if loose else ""
    editable = "" if targeted or (places and site in env.sites) else _editable(env, package)
    if editable:
        problem = "{package} is an editable install; its files lie in {editable}"
        raise SitepatchError(
            problem,
            "to patch the checkout itself: --target {editable}",
            package=package,
            editable=editable,
        )
    if not site:
        where = env.sites[0] if env.sites else env.python
        raise AbsentError(
            "{package} is not installed in {where}",
            _similar(env, package),
            package=package,
            where=where,
        )
    owned = owner(Path(site), package, files)
    notes = [owned.note] if owned.note else []
    if not places and not targeted and not owned.recorded:
        left = "{path} has no __init__.py and no RECORD lists it: it is left over from an uninstall"
        hint = Message("remove that directory, then install {package} again", package=package)
        raise SitepatchError(left, hint, path=Path(site) / package)
    if site not in env.sites and not owned.recorded:
        problem = "{package} is imported from {site}, which is no site directory"
        raise SitepatchError(problem, "use --target {site}", package=package, site=site)
    if len(places) > 1:
        template = "{package} is found twice: in {place}; {site} comes first and is patched"
        notes.insert(0, Message(template, package=package, place=listed(places, "in"), site=site))
    return Located(
        package, site, owned.name, owned.version, owned.dist_info, tuple(notes), owned.recorded
    )


def find_file(located: Located, paths: Sequence[str]) -> tuple[str, ...]:
    """Which of the alternative places of a file exist, as given (`/`, relative to the site directory).

    Raises:
        SitepatchError: when a path leaves the package, or a directory on the way is a link out of the site directory, or
            a file is a link to none, as where uv's cache was cleaned.
    """
    existing = []
    for path in paths:
        parts = path.split("/")
        inside = parts[0] in (located.package, f"{located.package}.py") and not {
            "",
            ".",
            "..",
        } & set(parts)
        if not inside or "\\" in path or "\0" in path:
            raise SitepatchError.at(
                Location(path),
                "found a path outside the package {package}",
                package=located.package,
            )
        directory = Path(located.site)
        for part in parts[:-1]:
            directory = directory / part
            if directory.is_symlink() and not is_inside(directory, located.site):
                problem = "{directory} is a link to {to}, outside the site directory"
                hint = Message("patch it there: --target with the directory that holds the package")
                real = os.path.realpath(directory)
                raise SitepatchError.at(Location(path), problem, hint, directory=directory, to=real)
        file = directory / parts[-1]
        if file.is_file():
            existing.append(path)
        elif file.is_symlink():
            hint = Message("install {package} again", package=located.package)
            raise SitepatchError.at(
                Location(path), "is a link to {to}, which is not there", hint, to=os.readlink(file)
            )
    return tuple(existing)


def nearest_file(located: Located, path: str) -> str:
    """The Python file with the path most similar to a missing one: of its directory, else of the package; "" for none."""
    site, (folder, _, name) = Path(located.site), path.rpartition("/")
    for top, pattern, least in (
        (site / folder, "*.py", 0.6),
        (site / located.package, "**/*.py", 0.8),
    ):
        files = sorted(top.glob(pattern))
        stems = nearest(name[:-3], sorted({file.stem for file in files} - {"__init__"}), 1, least)
        near = [file.relative_to(site).as_posix() for file in files if [file.stem] == stems]
        if near:
            return nearest(path, near, 1, 0)[0]
    return ""


def check_not_shared(located: Located, path: str, env: Environment) -> None:
    """Refuse a file that a virtual environment shares with its base installation or with other environments.

    Raises:
        SitepatchError: when the site directory is one of `env.outer`.
    """
    if located.site in env.outer:
        release = release_name(located.package, located.distribution, located.version)
        template = "install {package} into the environment, or patch it there, for all who use it, with --system"
        hint = Message(template, package=located.package)
        other_env = next(
            (folder for folder in Path(located.site).parents if (folder / "pyvenv.cfg").is_file()),
            None,
        )
        if other_env:
            hint = Message(
                "if {other} is the environment that is meant: --python {other}", other=other_env
            )
        problem = (
            "{path} is not of this virtual environment: {what} lies in {site}, which others share"
        )
        raise SitepatchError(problem, hint, path=path, what=release, site=located.site)


def compiled_modules(directory: str) -> list[str]:
    """The names of the compiled modules in a directory."""
    return sorted(name for name in os.listdir(directory) if name.endswith((".so", ".pyd")))


def blocker(
    located: Located,
    path: str,
    env: Environment,
    compiled: Callable[[str], Sequence[str]] = compiled_modules,
) -> str | None:
    """Why a change of this file would have no effect on what is imported; None where it would have one.

    A compiled module beside the source is imported first (black and charset_normalizer ship such pairs), and so is a
    package directory of the same name; the standard library is frozen into the interpreter from 3.11 on. Who asks about many
    files gives a `compiled` that lists each directory once.
    """
    file, suffix = os.path.splitext(os.path.join(located.site, path))
    if os.path.isfile(os.path.join(located.site, "os.py")):
        return Message(
            "{path} belongs to the standard library, parts of which are frozen into the interpreter",
            path=path,
        )
    if suffix != ".py":
        return None
    if os.path.isfile(os.path.join(file, "__init__.py")):
        return Message(
            "{path} is not what is imported: the package {name}/ comes first",
            path=path,
            name=path[:-3],
        )
    directory, stem = os.path.split(file)
    for twin in compiled(directory):
        tags = (
            re.fullmatch(r"\.(?:([^.]+)\.)?(?:so|pyd)", twin[len(stem) :])
            if twin.startswith(f"{stem}.")
            else None
        )
        made_for = re.match(r"(?:cpython-|cp)(\d)(\d+)", (tags and tags.group(1)) or "")
        if tags and (not made_for or tuple(map(int, made_for.groups())) == env.version):
            return Message(
                "{path} is not what is imported: the compiled {twin} beside it comes first",
                path=path,
                twin=twin,
            )
    return None


def _holds(place: str, package: str) -> bool:
    return any(
        os.path.isfile(os.path.join(place, name))
        for name in (f"{package}/__init__.py", f"{package}.py")
    )


def _zip_holds(place: str, package: str) -> bool:
    if not os.path.isfile(place):
        return False
    import zipfile

    from patcher.system.archive import archive_errors

    try:
        with archive_errors(place), zipfile.ZipFile(place) as archive:
            return bool({f"{package}/__init__.py", f"{package}.py"} & set(archive.namelist()))
    except (SitepatchError, OSError):
        return False  # the interpreter skips it too


def _is_stdlib(package: str, env: Environment) -> bool:
    libraries = [
        os.path.dirname(os.__file__),
        *(place for place in env.search if _holds(place, "os")),
    ]
    return package in sys.builtin_module_names or any(
        _holds(library, package) for library in libraries
    )


def _editable(env: Environment, package: str) -> str:
    """The directory an editable install of `package` points to, "" if there is none."""
    for place in map(Path, env.sites):
        for directory in _pointers(place, package) if place.is_dir() else ():
            for source in (directory, directory / "src"):
                if (source / package).is_dir() or (source / f"{package}.py").is_file():
                    return str(source)
    return ""


def _pointers(site: Path, package: str) -> Iterator[Path]:
    """The directories that the editable installs of a site directory point to, in each format of the installers."""
    for path in sorted(site.iterdir()):
        if path.suffix == ".egg-link" or (
            path.suffix == ".pth" and path.name.startswith(("__editable__", "easy-"))
        ):
            lines = [line.strip() for line in _lines(path) if not line.startswith("import")]
            # an unpacked egg is installed
            yield from (site / line for line in lines if line and not line.endswith(".egg"))
        elif path.name.startswith("__editable__") and path.suffix == ".py":
            mapped = re.search(
                rf"""["']{re.escape(package)}["']\s*:\s*(["'])(.+?)\1""", "\n".join(_lines(path))
            )
            if mapped:
                yield Path(mapped.group(2)).parent
        elif path.suffix == ".dist-info":
            came = origin(path)
            yield from filter(None, [came.path if came.editable else None])


def _lines(path: Path) -> list[str]:
    try:
        return read_file(path).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _similar(env: Environment, package: str) -> str:
    """A hint that names what a distribution of that name is imported as, or installed packages with a similar name."""
    alternative = Message("or name another environment with --python or --target")
    entries = [
        entry for place in map(Path, env.sites) if place.is_dir() for entry in place.iterdir()
    ]
    for info in (entry for entry in entries if entry.suffix == ".dist-info"):
        if normalized(info.name.split("-")[0]) == normalized(package):
            tops = {row.path.split("/")[0] for row in recorded_sources(info)}
            modules = sorted(
                filter(
                    str.isidentifier,
                    (top[: -len(".py")] if top.endswith(".py") else top for top in tops),
                )
            )
            if modules and package not in modules:
                problem = "the distribution {package} is imported as {modules}: name that; {other}"
                return Message(
                    problem, package=package, modules=listed(modules, "or"), other=alternative
                )
    names = {entry.name.split(".")[0] for entry in entries}
    near = nearest(package, sorted(name for name in names if name.isidentifier()), 3, 0.7)
    if not near:
        return Message("install it, {other}", other=alternative)
    return Message("did you mean {names}? {other}", names=listed(near, "or"), other=alternative)
