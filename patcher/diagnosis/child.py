"""Run by the target interpreter, once for each rank: joins a process group of torch and uses it.

    RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 MASTER_ADDR=... MASTER_PORT=... python -I -B child.py REQUEST
    REPORT

Standard library and torch alone, Python 3.6 or later, nothing of ours. REQUEST is JSON: what the
interpreter is to search, before its own path where that is `ahead`; packages of `vendors`, which
add a device to torch, imported where torch sees none; the `backend`, "" for the one that fits; the
`limit` in seconds and `until`, when they are over. To the file REPORT a line of JSON with all facts
so far (`patcher.diagnosis.ranks.EndedRank`) is written whenever one is new. Where nobody holds the
other end of standard input any more, the process ends: no rank outlives the command.
"""

import faulthandler
import importlib
import importlib.util
import json
import os
import sys
import threading
import time
from datetime import timedelta

TYPE_CHECKING = False  # typing would be one more thing that can be slow or missing
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Optional, Tuple

_ELEMENTS = 1 << 18  # float32: enough for every backend to leave its path for small messages
_OURS = (__file__, importlib.__file__, "<frozen importlib")  # frames above torch's
_GENERAL = ("undefined", "gloo", "mpi", "ucc", "fake")  # backends that belong to no kind of device


def _steps(request: "Dict[str, Any]", report: "Callable[..., None]") -> "Iterator[str]":
    """Do what a rank does; the name of each step before it is done."""
    rank = int(os.environ["RANK"])
    size = int(os.environ["WORLD_SIZE"])

    yield "import torch"
    torch = importlib.import_module("torch")
    report(torch=str(torch.__version__))
    dist = importlib.import_module("torch.distributed")
    if not dist.is_available():
        raise RuntimeError("this PyTorch was built without torch.distributed")

    yield "device"
    kind, backend = _choice(torch, size, request=request, report=report)
    module: Any = None
    if kind != "cpu":  # torch.cpu has a device_count, too
        module = getattr(torch, kind, None)
    device = _device(torch, kind, module=module, rank=rank)
    report(device=str(device), backend=backend)

    yield "start"
    dist.init_process_group(backend, timeout=timedelta(seconds=request["limit"]))

    yield "all-reduce"
    numbers = torch.full((_ELEMENTS,), float(rank + 1), device=device)
    dist.all_reduce(numbers)
    _check_sum(numbers, rank, size=size)

    yield "barrier"
    dist.barrier()
    if hasattr(module, "synchronize"):
        module.synchronize()

    yield "end"
    dist.destroy_process_group()


def _device(torch: "Any", kind: str, *, module: "Any", rank: int) -> "Any":
    """The device of a rank, made the current one; `module` is the one of its kind in torch."""
    count = 0
    if hasattr(module, "device_count"):
        count = module.device_count()
    if not count:
        return torch.device(kind)
    index = rank % count
    if hasattr(module, "set_device"):
        module.set_device(index)
    return torch.device(kind, index)


def _check_sum(numbers: "Any", rank: int, *, size: int) -> None:
    """Check that the all-reduce has summed 1, 2, ... of all ranks."""
    expected = size * (size + 1) / 2
    sums = sorted({float(numbers.min()), float(numbers.max())})
    if sums != [expected]:
        text = " to ".join(map(str, sums))
        raise RuntimeError(f"the all-reduce gave {text} on rank {rank}, expected {expected}")


def _choice(
    torch: "Any", size: int, *, request: "Dict[str, Any]", report: "Callable[..., None]"
) -> "Tuple[str, str]":
    """The kind of device and the backend.

    What is asked for, else what all ranks have one of, else the CPU and gloo.
    """
    backend = request["backend"]
    named_kind = _kind_in(backend)
    # as a script would import them; not where torch knows the device already
    for name in request["vendors"]:
        known = hasattr(torch, named_kind) if named_kind else _accelerator(torch)
        if not known and importlib.util.find_spec(name):
            importlib.import_module(name)
            report(notes=[["imported", name]])
    if backend:
        return named_kind or _kind_of(torch, backend), backend

    kind = _accelerator(torch)
    if kind is None:
        return "cpu", "gloo"
    count = getattr(torch, kind).device_count()
    name = _backend_of(torch, kind)
    if not name:
        report(notes=[["unserved", kind]])
        return "cpu", "gloo"
    if count < size:
        report(notes=[["few", kind, count, size]])
        return "cpu", "gloo"
    return kind, name


def _kind_in(backend: str) -> str:
    """The kind of device that `cpu:gloo,gcu:eccl` names, "" for a backend alone."""
    named = ""
    for part in backend.split(","):
        kind, colon, _ = part.partition(":")
        if colon and kind != "cpu":
            return kind
        if colon:
            named = "cpu"
    return named


def _kind_of(torch: "Any", backend: str) -> str:
    """The kind of device that a backend is for; the CPU where it serves that, too."""
    usual = ["cuda"] if backend == "nccl" else ["cpu"]
    kinds = list(_capability(torch).get(backend, usual))
    if "cpu" in kinds or not kinds:
        return "cpu"
    return str(kinds[0])


def _backend_of(torch: "Any", kind: str) -> str:
    """The backend for a kind of device, "" where torch knows none."""
    defaults = getattr(torch.distributed.Backend, "default_device_backend_map", {})
    if defaults.get(kind):
        return str(defaults[kind])
    for name, kinds in _capability(torch).items():
        if name and kind in kinds and name not in _GENERAL:
            return str(name)
    return "nccl" if kind == "cuda" else ""


def _capability(torch: "Any") -> "Dict[str, Any]":
    """By the name of a backend: the kinds of devices that it serves."""
    capability: Dict[str, Any] = getattr(torch.distributed.Backend, "backend_capability", {})
    return capability


def _accelerator(torch: "Any") -> "Optional[str]":
    """The kind of accelerator that torch knows and sees."""
    accelerator = getattr(torch, "accelerator", None)
    current = getattr(accelerator, "current_accelerator", lambda: None)()
    if current is not None:
        kinds = [current.type]
    else:
        private = getattr(torch._C, "_get_privateuse1_backend_name", lambda: "")()
        kinds = [private, "cuda", "xpu", "hpu"]

    for kind in kinds:
        module = getattr(torch, kind, None)
        is_available = getattr(module, "is_available", lambda: True)
        if hasattr(module, "device_count") and is_available():
            return str(kind)
    return None


def _printed(error: BaseException) -> str:
    """Write a traceback without our own frames, as Python does; returns the line of its error."""
    import traceback

    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)
    sys.stderr.flush()
    text = "".join(traceback.format_exception_only(type(error), error))
    return text.strip().split("\n")[0]


def _end_with_the_command() -> None:
    os.read(0, 1)  # nobody writes: it returns at the end of the file
    os._exit(1)


def main(request: "Dict[str, Any]", path: str) -> None:
    """Do all steps, and end the process, whatever threads of a backend would do at exit."""
    threading.Thread(target=_end_with_the_command, daemon=True).start()
    faulthandler.enable()
    left = request["until"] - time.time()
    faulthandler.dump_traceback_later(max(0.1, left), exit=True)  # shows where it hangs
    own_path = sys.path if request["ahead"] else []
    sys.path[:] = [*request["search"], *own_path]

    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    facts: Dict[str, Any] = {"steps": [], "notes": []}

    def report(**new: "Any") -> None:
        """Tell the process that has started this one; of `steps` and `notes` one more."""
        for name in ("steps", "notes"):
            if name in new:
                new[name] = facts[name] + new[name]
        facts.update(new, time=time.monotonic())
        line = json.dumps(facts) + "\n"
        os.write(file, line.encode("ascii"))

    inside = ""
    start = 0.0
    try:
        for name in _steps(request, report):
            done = []
            if inside:
                done.append([inside, time.monotonic() - start])
            report(inside=name, steps=done)
            inside = name
            start = time.monotonic()
    except BaseException as error:  # SystemExit of a vendor's package, too
        report(problem=_printed(error)[:2000])
        os._exit(1)
    report(inside="", steps=[[inside, time.monotonic() - start]])
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
