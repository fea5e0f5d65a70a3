"""The build backend of a hook's directory (PEP 517): makes its wheel, says in one line what is wrong."""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, NoReturn, Optional

from patcher.errors import SitepatchError
from patcher.hook import wheel
from patcher.hook.directory import Content, read
from patcher.hook.kept import KEPT, PATCHSETS

Settings = Optional[Dict[str, Any]]


@contextmanager
def _plainly() -> Iterator[None]:
    """End the build with one line instead of a traceback."""
    try:
        yield
    except (SitepatchError, OSError) as error:
        hint = getattr(error, "hint", "")
        sys.stderr.write(f"sitepatch hook: error: {error}{f'; {hint}' if hint else ''}\n")
        raise SystemExit(1) from None


def _content() -> Content:
    return read(Path.cwd())


def get_requires_for_build_wheel(config_settings: Settings = None) -> List[str]:
    """Nothing more is needed."""
    return []


def get_requires_for_build_sdist(config_settings: Settings = None) -> List[str]:
    """Nothing more is needed."""
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """Write the dist-info directory and return its name."""
    with _plainly():
        content = _content()
        folder = Path(metadata_directory) / wheel.info(content)
        folder.mkdir()
        for name, data in wheel.metadata(content).items():
            (folder / name).write_bytes(data)
        return folder.name


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    """Write the wheel and return its name."""
    with _plainly():
        name, data = wheel.build(_content())
        (Path(wheel_directory) / name).write_bytes(data)
        return name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Write an archive of the directory and return its name."""
    with _plainly():
        content = _content()
        top = f"{wheel.stem(content.hook.name)}-{content.hook.version}"
        files = {f"{PATCHSETS}/{name}": text.encode("utf-8") for name, text in content.texts.items()}
        files.update((name, Path(name).read_bytes()) for name in ("pyproject.toml", KEPT))
        files["PKG-INFO"] = wheel.metadata(content)["METADATA"]
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, data in sorted(files.items()):
                member = tarfile.TarInfo(f"{top}/{name}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        path = Path(sdist_directory) / f"{top}.tar.gz"
        path.write_bytes(gzip.compress(out.getvalue(), mtime=0))
        return path.name


def _refused(*words: Any, **more: Any) -> NoReturn:
    sys.stderr.write("sitepatch hook: error: a hook cannot be installed in editable mode; leave out -e (--editable)\n")
    raise SystemExit(1)


get_requires_for_build_editable = prepare_metadata_for_build_editable = build_editable = _refused
