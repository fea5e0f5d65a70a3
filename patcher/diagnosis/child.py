"""Run by the target interpreter, once for each rank: joins a process group of torch and uses it.

    RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 MASTER_ADDR=... MASTER_PORT=... python -I -B child.py REQUEST
    REPORT

Standard library and torch alone, Python 3.6 or later, nothing of ours. REQUEST is JSON: what the
interpreter is to search, before its own path where that is `ahead`; packages of `vendors`, which
add a device to torch, imported where torch sees none; the `backend`, "" for the one that fits; the
`limit` in seconds and `until`, when they are over. To the file REPORT a line of JSON with all facts
so far (`patcher.diagnosis.ranks.EndedRank`) is written whenever one is new. Where nobody holds the
other
end of standard input any more, the process ends: no rank outlives the command.
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
    kind, backend = _choice(torch, size, request, report)
    # torch.cpu has a device_count, too
    module: Any = getattr(torch, kind, None) if kind != "cpu" else None
    count = module.device_count() if hasattr(module, "device_count") else 0
    if count and hasattr(module, "set_device"):
        module.set_device(rank % count)
    device = torch.device(kind, rank % count) if count else torch.device(kind)
    report(device=str(device), backend=backend)

    yield "start"
    dist.init_process_group(backend, timeout=timedelta(seconds=request["limit"]))

    yield "all-reduce"
    numbers = torch.full((_ELEMENTS,), float(rank + 1), device=device)
    dist.all_reduce(numbers)
    _check_sum(numbers, rank, size)

    yield "barrier"
    dist.barrier()
    if hasattr(module, "synchronize"):
        module.synchronize()

    yield "end"
    dist.destroy_process_group()


def _check_sum(numbers: "Any", rank: int, size: int) -> None:
    """Check that the all-reduce has summed 1, 2, ... of all ranks."""
    expected = size * (size + 1) / 2
    sums = sorted({float(numbers.min()), float(numbers.max())})
    if sums != [expected]:
        text = " to ".join(map(str, sums))
        raise RuntimeError(f"the all-reduce gave {text} on rank {rank}, expected {expected}")


def _choice(
    torch: "Any", size: int, request: "Dict[str, Any]", report: "Callable[..., None]"
) -> "Tuple[str, str]":
    """The kind of device and the backend.

    What is asked for, else what all ranks have one of, else the CPU and gloo.
    """
    backend = request["backend"]
    backends = torch.distributed.Backend
    # "cpu:gloo,gcu:eccl"
    kinds = [part.partition(":")[0] for part in backend.split(",") if ":" in part]
    named = next((kind for kind in kinds if kind != "cpu"), "cpu" if kinds else "")
    # as a script would import them; not where torch knows the device already
    for name in request["vendors"]:
        known = hasattr(torch, named) if named else _accelerator(torch)
        if not known and importlib.util.find_spec(name):
            importlib.import_module(name)
            report(notes=[["imported", name]])
    served = getattr(backends, "backend_capability", {})
    if backend:
        able = served.get(backend, ["cuda"] if backend == "nccl" else ["cpu"])
        if not named and "cpu" not in able:
            named = str(next(iter(able), "cpu"))
        return named or "cpu", backend

    kind = _accelerator(torch)
    if kind is None:
        return "cpu", "gloo"
    names = [getattr(backends, "default_device_backend_map", {}).get(kind)]
    names += [name for name, able in served.items() if kind in able and name not in _GENERAL]
    if kind == "cuda":
        names.append("nccl")
    name = next((str(name) for name in names if name), "")
    count = getattr(torch, kind).device_count()
    if name and count >= size:
        return kind, name
    report(notes=[["few", kind, count, size] if name else ["unserved", kind]])
    return "cpu", "gloo"


def _accelerator(torch: "Any") -> "Optional[str]":
    """The kind of accelerator that torch knows and sees."""
    current = getattr(getattr(torch, "accelerator", None), "current_accelerator", lambda: None)()
    private = getattr(torch._C, "_get_privateuse1_backend_name", lambda: "")()
    for kind in [private, "cuda", "xpu", "hpu"] if current is None else [current.type]:
        module = getattr(torch, kind, None)
        if hasattr(module, "device_count") and getattr(module, "is_available", lambda: True)():
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
    return "".join(traceback.format_exception_only(type(error), error)).strip().split("\n")[0]


def _end_with_the_command() -> None:
    os.read(0, 1)  # nobody writes: it returns at the end of the file
    os._exit(1)


def main(request: "Dict[str, Any]", path: str) -> None:
    """Do all steps, and end the process, whatever threads of a backend would do at exit."""
    threading.Thread(target=_end_with_the_command, daemon=True).start()
    faulthandler.enable()
    # shows where it hangs
    faulthandler.dump_traceback_later(max(0.1, request["until"] - time.time()), exit=True)
    sys.path[:] = request["search"] + (sys.path if request["ahead"] else [])
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    facts: Dict[str, Any] = {"steps": [], "notes": []}

    def report(**new: "Any") -> None:
        """Tell the process that has started this one; of `steps` and `notes` one more."""
        more = {name: facts[name] + new[name] for name in ("steps", "notes") if name in new}
        facts.update(new, time=time.monotonic(), **more)
        os.write(file, (json.dumps(facts) + "\n").encode("ascii"))

    inside = ""
    start = 0.0
    try:
        for name in _steps(request, report):
            report(inside=name, steps=[[inside, time.monotonic() - start]] if inside else [])
            inside = name
            start = time.monotonic()
    except BaseException as error:  # SystemExit of a vendor's package, too
        report(problem=_printed(error)[:2000])
        os._exit(1)
    report(inside="", steps=[[inside, time.monotonic() - start]])
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
