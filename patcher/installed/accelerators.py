"""Which accelerators' packages are installed in an environment: what depends on the card asks here.

A package adds a kind of device to torch as its PrivateUse1 and has torch import it through the
entry points of the group `torch.backends`. Nothing is imported to find that out: the files of the
packages say it, also for a card that is new.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

from patcher.errors import SitepatchError
from patcher.installed.interpreter import Environment
from patcher.installed.record import entries_of
from patcher.record import Record
from patcher.system.reading import TEXT, read_file

_GROUP = "torch.backends"
# packages that may have no entry point, or one that does not name the device
_VENDORS = {
    "torch_gcu": "gcu",
    "torch_npu": "npu",
    "torch_musa": "musa",
    "torch_mlu": "mlu",
    "torch_xla": "xla",
    "habana_frameworks": "hpu",
    "intel_extension_for_pytorch": "xpu",
}
_NAMES_PRIVATE_USE = re.compile(
    rb"(?:rename_privateuse1_backend|_setup_privateuseone_for_python_backend)\(\s*['\"](\w+)['\"]"
)


class Accelerator(Record):
    """A kind of device, as torch calls it (`gcu`), and its package (`torch_gcu`)."""

    kind: str
    package: str


def installed_accelerators(env: Environment) -> list[Accelerator]:
    """The accelerators whose packages are installed, each kind once.

    CUDA and ROCm, which torch itself brings, are not among them.
    """
    accelerators: dict[str, Accelerator] = {}
    for site in env.search:
        for name, package in _candidates(Path(site)):
            kind = _VENDORS.get(package)
            kind = kind or _private_use(Path(site, package)) or _kind_in(name)
            accelerators.setdefault(kind, Accelerator(kind, package))
    return list(accelerators.values())


def _candidates(site: Path) -> Iterator[tuple[str, str]]:
    """What may belong to an accelerator: the name of an entry point or a package, and the package.

    Entry points come first.
    """
    try:
        names = sorted(path.name for path in site.iterdir())
    except OSError:
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            yield from _entry_points(site / name / "entry_points.txt")
    for name in names:
        is_known = name in _VENDORS and (site / name).is_dir()
        if is_known or (name.startswith("torch_") and _private_use(site / name)):
            yield name, name


def _entry_points(path: Path) -> Iterator[tuple[str, str]]:
    """The entry points of torch's group in a file: the name and the package of each."""
    try:
        data = read_file(path, TEXT)
    except (OSError, SitepatchError):
        return  # most distributions have none
    if _GROUP.encode() not in data:
        return
    try:
        entries = entries_of(data, _GROUP)
    except ValueError:
        return  # torch ignores it, too
    for name, value in entries:
        yield name, re.split(r"[.:\s]", value.strip())[0]


def _private_use(package: Path) -> str:
    """The name that a package gives to torch's PrivateUse1 in a module at its top; else empty."""
    try:
        modules = sorted(path for path in package.iterdir() if path.suffix == ".py")
    except OSError:
        return ""
    for path in modules:
        try:
            call = _NAMES_PRIVATE_USE.search(read_file(path, TEXT))
        except (OSError, SitepatchError):
            continue
        if call:
            return call[1].decode()
    return ""


def _kind_in(name: str) -> str:
    """The kind of device in the name of a package or an entry point: `gcu` of `torch_gcu`."""
    return re.sub(r"^torch[_-]|[_-]torch$", "", name)
