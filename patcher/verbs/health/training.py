"""Checks for known problems of PyTorch, MMEngine and triton on this machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.model import HunkText, Located, Patchset
from patcher.store.status import live_names
from patcher.system.reading import TEXT, read_file
from patcher.verbs.cure import APPLICABLE, fit_of
from patcher.verbs.health.checks import NOTE, PROBLEM, Observations
from patcher.verbs.health.examination import Examination

_DEVICE = "mmengine-device"
_LIBCUDA = "triton-libcuda-path"
_DRIVER = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")


def code_that_fails(case: Examination) -> Observations:
    """Code that only a trouble has: that of patchsets all of whose hunks are `when-present`."""
    for patchset in case.patchsets:
        if not patchset.about.symptoms:
            continue
        if not all(hunk.flags.when_present for hunk in _hunks(patchset)):
            continue
        symptom = patchset.about.symptoms[0]
        fit = fit_of(case.env, case.statuses, patchset, symptom=symptom)
        if fit.word == APPLICABLE:
            template = "sitepatch apply {name}{here}: {text}"
            yield PROBLEM, symptom.meaning, Message(template, name=patchset.name, text=fit.text)


def _hunks(patchset: Patchset) -> list[HunkText]:
    hunks: list[HunkText] = []
    for variant in patchset.variants:
        for patch in variant.patches:
            hunks += patch.hunks
    return hunks


def libcuda(case: Examination) -> Observations:
    """Whether triton finds the library of the driver where ldconfig lists it."""
    paths = listed_libraries("libcuda.so") if case.installed("triton") else []
    if not paths or any(Path(path).exists() for path in paths):
        return
    template = (
        "ldconfig lists {listed}, and there is no such file: "
        "triton does not find the driver's library"
    )
    what = Message(template, listed=", ".join(paths))
    cure = _apply(case, _LIBCUDA) or Message("it is applied; is the driver there at all?")
    yield PROBLEM, what, cure


def unknown_accelerators(case: Examination) -> Observations:
    """Whether MMEngine knows the accelerators whose packages are installed."""
    engine = case.installed("mmengine")
    cure = _apply(case, _DEVICE)
    if not engine or not cure:
        return
    for kind, package in case.accelerators:
        if not _knows(engine, kind):
            template = (
                "{package} is installed, and get_device() of MMEngine {version} "
                "does not know {kind}: models go to the CPU"
            )
            what = Message(template, package=package, version=engine.version, kind=kind)
            yield PROBLEM, what, cure


def _knows(engine: Located, kind: str) -> bool:
    """Whether get_device() of an MMEngine asks for a kind of device, as far as can be read."""
    try:
        source = read_file(Path(engine.site) / "mmengine/device/utils.py", TEXT)
    except (OSError, SitepatchError):
        return True
    return re.search(rb"\bis_%s_available\b" % re.escape(kind.encode()), source) is not None


def driver(case: Examination) -> Observations:
    """Whether a build of torch for CUDA finds a driver."""
    torch = case.installed("torch")
    if not torch or not _built_for(torch, "cuda"):
        return
    if any(Path(path).exists() for path in (*_DRIVER, *listed_libraries("libcuda.so"))):
        return
    template = "torch {version} is a build for CUDA, and this machine has no driver for it"
    hint = Message(
        "to train on the CPU install PyTorch's CPU build; in a container: docker run --gpus all"
    )
    yield NOTE, Message(template, version=torch.version), hint


def backend(case: Examination) -> Observations:
    """Whether torch has the backend that MMEngine takes by itself."""
    torch = case.installed("torch")
    cure = _apply(case, _DEVICE)
    if not torch or not case.installed("mmengine") or not cure:
        return
    if _built_for(torch, "cuda") is not False or _built_for(torch, "hip"):
        return
    template = (
        "torch {version} has no NCCL, "
        "the backend that MMEngine takes unless the config names another one"
    )
    hint = Message("in the config: env_cfg = dict(dist_cfg=dict(backend='gloo'))")
    if case.accelerators:
        hint = Message("{apply} takes the backend of the card", apply=cure)
    yield NOTE, Message(template, version=torch.version), hint


# what of them is there ----------------------------------------------------------------------------
def _apply(case: Examination, name: str) -> str:
    """The command that applies a patchset, "" where it is applied."""
    if name in live_names(case.statuses):
        return ""
    return Message("sitepatch apply {name}{here}", name=name)


def _built_for(torch: Located, kind: str) -> bool | None:
    """Whether a build of PyTorch is for a kind of device, None where that is not recorded."""
    try:
        data = read_file(Path(torch.site) / "torch" / "version.py", TEXT)
    except OSError:
        return None
    source = data.decode("utf-8", "replace")
    match = re.search(rf"^{kind}\b[^=\n]*= *(\S+)", source, re.MULTILINE)
    return match.group(1) != "None" if match else None


def listed_libraries(name: str) -> list[str]:
    """The files of a library that ldconfig lists; none on a system without glibc's."""
    try:
        child = subprocess.run(
            ["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    paths = []
    for line in child.stdout.decode("utf-8", "replace").splitlines():
        if name in line and "=> " in line:
            paths.append(line.rpartition("=> ")[2].strip())
    return paths
