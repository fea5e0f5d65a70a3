"""The build backend of a hook's directory (PEP 517), which has a copy of this file: makes its wheel without a network.

Standard library only: what goes into the wheel and is no file of the directory is in carried.json. Directories of an older
`hook init` have neither; their backend is this module of the sitepatch that they require.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import tarfile
import zipfile
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Dict, Iterator, NamedTuple, NoReturn, Optional, Tuple

CARRIED = "carried.json"
Settings = Optional[Dict[str, Any]]


class Wheel(NamedTuple):
    """A wheel but for its RECORD: its file name, its files by name."""

    name: str
    files: Dict[str, bytes]

    @property
    def stem(self) -> str:
        """NAME-VERSION."""
        return "-".join(self.name.split("-")[:2])

    def pack(self) -> bytes:
        """The bytes of the archive, the same for the same files."""
        record = io.StringIO()
        rows = csv.writer(record, lineterminator="\n")
        for name, data in sorted(self.files.items()):
            rows.writerow([name, "sha256=" + urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode(), len(data)])
        path = f"{self.stem}.dist-info/RECORD"
        rows.writerow([path, "", ""])
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:  # what deflate makes differs between machines
            for name, data in [*sorted(self.files.items()), (path, record.getvalue().encode())]:
                member = zipfile.ZipInfo(name)  # of 1980
                member.create_system, member.external_attr = 3, 0o100644 << 16
                archive.writestr(member, data)
        return out.getvalue()


def digest(path: str, data: bytes) -> str:
    """The sha256 (hex) of a file of the directory; line ends do not count, nor do comments of pyproject.toml and layout."""
    if path == "pyproject.toml":
        lines = (b"".join(line.split()) for line in data.split(b"\n"))
        return sha256(b"\n".join(line for line in lines if line and not line.startswith(b"#"))).hexdigest()
    return sha256(_plain(data)).hexdigest()


def _plain(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def carry(wheel: Wheel, module: str, directory: Dict[str, bytes]) -> bytes:
    """The text of carried.json for a directory with these files; in the wheel they lie in the folder `module`."""
    there = {f"{module}/{path}" for path in directory}
    files = {name: data.decode("utf-8") for name, data in sorted(wheel.files.items()) if name not in there}
    digests = {path: digest(path, data) for path, data in sorted(directory.items())}
    fields = {"wheel": wheel.name, "module": module, "digests": digests, "files": files}
    return (json.dumps(fields, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def carried(folder: Path) -> Tuple[Optional[Wheel], str]:
    """The wheel of a hook's directory as `hook init` left it, by whatever release of sitepatch; else what is wrong with it."""
    problem = ""
    try:
        fields = json.loads((folder / CARRIED).read_bytes().decode("utf-8"))
        files = {str(name): str(text).encode("utf-8") for name, text in fields["files"].items()}
        for path, requested in fields["digests"].items():
            data = (folder / path).read_bytes()
            problem = problem or (f"{path}: was changed since hook init ran" if digest(path, data) != requested else "")
            if path != "pyproject.toml":
                files[f"{fields['module']}/{path}"] = _plain(data)
        return (None, problem) if problem else (Wheel(Path(fields["wheel"]).name, files), "")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        return None, f"{CARRIED}: {error}" if not isinstance(error, OSError) else str(error)


def _read() -> Wheel:
    """The wheel of the current directory.

    Raises:
        SystemExit: it is not as `hook init` left it; what is wrong was written to stderr.
    """
    one, problem = carried(Path())
    if one:
        return one
    try:  # sitepatch can build what this file cannot read, and has better messages
        from patcher.errors import SitepatchError
        from patcher.hook.directory import read_content
        from patcher.hook.wheel import wheel
    except ImportError:
        _stop(f"{problem}; run again: sitepatch hook init {Path.cwd().name}")
    try:
        return Wheel(*wheel(read_content(Path.cwd())))
    except (SitepatchError, OSError) as error:
        hint = getattr(error, "hint", "")
        _stop(f"{error}{f'; {hint}' if hint else ''}")


def _stop(text: str) -> NoReturn:
    """End the build with one line instead of a traceback."""
    sys.stderr.write(f"sitepatch hook: error: {text}\n")
    raise SystemExit(1)


@contextmanager
def _plainly() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _stop(str(error))


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """Write the dist-info directory and return its name."""
    wheel = _read()
    with _plainly():
        folder = Path(metadata_directory) / f"{wheel.stem}.dist-info"
        folder.mkdir()
        for name, data in wheel.files.items():
            if name.startswith(f"{folder.name}/"):
                (folder.parent / name).write_bytes(data)
        return folder.name


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    """Write the wheel and return its name."""
    wheel = _read()
    with _plainly():
        (Path(wheel_directory) / wheel.name).write_bytes(wheel.pack())
        return wheel.name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Write an archive of the directory and return its name."""
    wheel = _read()
    with _plainly():
        own = [path for path in ("pyproject.toml", "kept.json", "backend.py", CARRIED) if Path(path).is_file()]
        paths = [*own, *(path.as_posix() for path in Path("patchsets").rglob("*") if path.is_file())]
        files = {path: Path(path).read_bytes() for path in paths}
        files["PKG-INFO"] = wheel.files[f"{wheel.stem}.dist-info/METADATA"]
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, data in sorted(files.items()):
                member = tarfile.TarInfo(f"{wheel.stem}/{name}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        path = Path(sdist_directory) / f"{wheel.stem}.tar.gz"
        path.write_bytes(gzip.compress(out.getvalue(), mtime=0))
        return path.name


def _refused(*words: Any, **more: Any) -> NoReturn:
    _stop("a hook cannot be installed in editable mode; leave out -e (--editable)")


get_requires_for_build_editable = prepare_metadata_for_build_editable = build_editable = _refused
