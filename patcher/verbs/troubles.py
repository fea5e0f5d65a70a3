"""The checks of `doctor` for known troubles of PyTorch, MMEngine and triton: from metadata and files, nothing is imported."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from patcher.diagnosis.conclusions import DEVICE, GET_DEVICE_KNOWS, VENDORS, version_numbers
from patcher.message import Message
from patcher.model import Located
from patcher.store.status import applied_names
from patcher.system.reading import TEXT, read_file
from patcher.verbs.checkup import NOTE, PROBLEM, Check, Examination, Found
from patcher.verbs.fit import APPLICABLE, fit_of

_DRIVER = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")


def _asked_for(case: Examination) -> Found:
    """Code that only a trouble has: patchsets all of whose hunks are `when-present`."""
    for patchset in case.patchsets:
        hunks = [hunk for variant in patchset.variants for patch in variant.patches for hunk in patch.hunks]
        if patchset.symptoms and all(hunk.when_present for hunk in hunks):
            fit = fit_of(case.env, case.statuses, patchset, patchset.symptoms[0])
            if fit.word == APPLICABLE:
                cure = Message("sitepatch apply {name}: {text}", name=patchset.name, text=fit.text)
                yield PROBLEM, patchset.symptoms[0].meaning, cure


def _libcuda(case: Examination) -> Found:
    listed = _listed("libcuda.so") if _located(case, "triton") else []
    if listed and not any(Path(path).exists() for path in listed):
        template = "ldconfig lists {listed}, and there is no such file: triton does not find the driver's library"
        message = Message(template, listed=", ".join(listed))
        yield PROBLEM, message, _apply(case, "triton-libcuda-path") or Message("it is applied; is the driver there at all?")


def _accelerators(case: Examination) -> Found:
    engine = _located(case, "mmengine")
    for package, (kind, _) in _vendors(case).items() if engine and _apply(case, DEVICE) else ():
        since: Optional[str] = dict(GET_DEVICE_KNOWS).get(kind)
        if since is None or (since and engine and version_numbers(engine.version) < version_numbers(since)):
            version = engine.version if engine else ""
            message = Message(
                "{package} is installed, and get_device() of MMEngine {version} does not know {kind}: models go to the CPU",
                package=package,
                version=version,
                kind=kind,
            )
            yield PROBLEM, message, _apply(case, DEVICE)


def _driver(case: Examination) -> Found:
    torch = _located(case, "torch")
    if torch and _built_for(torch, "cuda") and not _has_driver():
        message = Message("torch {version} is a build for CUDA, and this machine has no driver for it", version=torch.version)
        yield NOTE, message, Message("to train on the CPU install PyTorch's CPU build; in a container: docker run --gpus all")


def _backend(case: Examination) -> Found:
    torch, engine = _located(case, "torch"), _located(case, "mmengine")
    if not (torch and engine and _apply(case, DEVICE)) or _built_for(torch, "cuda") is not False or _built_for(torch, "hip"):
        return
    names = [f"cpu:gloo,{kind}:{backend}" for kind, backend in _vendors(case).values()] or ["gloo"]
    template = "torch {version} has no NCCL, the backend that MMEngine takes unless the config names another one"
    message = Message(template, version=torch.version)
    yield NOTE, message, Message("in the config: env_cfg = dict(dist_cfg=dict(backend='{names}'))", names=names[0])


# what is there --------------------------------------------------------------------------------------------------------
def _located(case: Examination, package: str) -> Optional[Located]:
    return next((located for located in case.located if located.package == package), None)


def _vendors(case: Examination) -> Dict[str, Tuple[str, str]]:
    """The vendors' packages that are installed."""
    return {name: kind for name, kind in VENDORS.items() if any((Path(site) / name).is_dir() for site in case.places)}


def _apply(case: Examination, name: str) -> str:
    """The command that applies a patchset, "" where it is applied."""
    applied = applied_names(item for item in case.statuses if item.live)
    return "" if name in applied else f"sitepatch apply {name}"


def _built_for(torch: Located, kind: str) -> Optional[bool]:
    """Whether a build of PyTorch is for a kind of device, None where that is not recorded."""
    try:
        source = read_file(Path(torch.site) / "torch" / "version.py", TEXT).decode("utf-8", "replace")
    except OSError:
        return None
    match = re.search(rf"^{kind}\b[^=\n]*= *(\S+)", source, re.MULTILINE)
    return match.group(1) != "None" if match else None


def _has_driver() -> bool:
    return any(Path(path).exists() for path in _DRIVER) or any(Path(path).exists() for path in _listed("libcuda.so"))


def _listed(name: str) -> List[str]:
    """The files of a library that ldconfig lists."""
    try:
        child = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []  # a system without glibc's
    lines = child.stdout.decode("utf-8", "replace").splitlines()
    return [line.rpartition("=> ")[2].strip() for line in lines if name in line and "=> " in line]


OF_MACHINE = ("libcuda", "driver")
"""The checks that hold packages against this machine, which says nothing of an image."""
TROUBLES = (
    Check("code", Message("no installed code uses an attribute that nothing defines"), _asked_for),
    Check("libcuda", Message("what ldconfig lists is there"), _libcuda),
    Check("accelerators", Message("MMEngine knows the accelerators whose packages are installed"), _accelerators),
    Check("driver", Message("the build of torch fits this machine"), _driver),
    Check("backend", Message("torch has the backend that MMEngine takes"), _backend),
)
