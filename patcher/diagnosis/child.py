"""Run by the target interpreter, once for each rank: import torch, join a process group, reduce, wait at a barrier.

    RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 MASTER_ADDR=... MASTER_PORT=... python -I -B child.py REQUEST REPORT

Standard library and torch alone, Python 3.6 or later, nothing of ours. REQUEST is JSON: what the interpreter is to search,
before its own path where that is `ahead`; packages of `vendors`, which add a device to torch, imported where torch sees none;
the `backend`, "" for the one that fits; the `limit` in seconds and `until`, when they are over. To the file REPORT a line of
JSON with all facts so far (`patcher.diagnosis.ranks.EndedRank`) is written whenever one is new. Where nobody holds the other
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
    from typing import Any, Callable, Dict, List, Optional, Tuple

_ELEMENTS = 1 << 18  # float32: enough for every backend to leave its path for small messages
_OURS = (__file__, importlib.__file__, "<frozen importlib")  # frames above torch's
_GENERAL = ("undefined", "gloo", "mpi", "ucc", "fake")  # backends that belong to no kind of device


class Rank:
    """One rank; `steps` are what it does, in order."""

    def __init__(self, request: "Dict[str, Any]", report: str) -> None:
        self._request, self._report = request, os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._facts: Dict[str, Any] = {"steps": [], "notes": []}
        self._rank, self._size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self._backend = ""
        self._device: Any = None
        self.steps: List[Tuple[str, Callable[[], None]]] = [
            ("import torch", self._import),
            ("device", self._choose),
            ("start", self._start),
            ("all-reduce", self._reduce),
            ("barrier", self._wait),
            ("end", self._end),
        ]

    def report(self, **facts: "Any") -> None:
        """Tell the process that has started this one; of `steps` and `notes` one more."""
        more = {name: [*self._facts[name], *facts[name]] for name in ("steps", "notes") if name in facts}
        self._facts = dict(self._facts, **dict(facts, time=time.monotonic(), **more))
        os.write(self._report, (json.dumps(self._facts) + "\n").encode("ascii"))

    def _import(self) -> None:
        self._torch = importlib.import_module("torch")
        self.report(torch=str(self._torch.__version__))
        self._dist = importlib.import_module("torch.distributed")
        if not self._dist.is_available():
            raise RuntimeError("this PyTorch was built without torch.distributed")

    # the device -------------------------------------------------------------------------------------------------------
    def _choose(self) -> None:
        backend = self._request["backend"]
        if ":" in backend:  # "cpu:gloo,gcu:eccl"
            kinds = [part.partition(":")[0] for part in backend.split(",")]
            kind, self._backend = next((each for each in kinds if each != "cpu"), "cpu"), backend
            self._import_vendors(kind)
        elif backend:
            self._import_vendors("")
            kind, self._backend = self._served(backend), backend
        else:
            kind, self._backend = self._fitting()
        module: Any = getattr(self._torch, kind, None) if kind != "cpu" else None  # torch.cpu has a device_count, too
        count = module.device_count() if hasattr(module, "device_count") else 0
        index = self._rank % count if count else None
        if index is not None and hasattr(module, "set_device"):
            module.set_device(index)
        self._module = module
        self._device = self._torch.device(kind) if index is None else self._torch.device(kind, index)
        self.report(device=str(self._device), backend=self._backend)

    def _fitting(self) -> "Tuple[str, str]":
        """The kind of device that all ranks have one of, and the backend that serves it; else the CPU and gloo."""
        self._import_vendors("")
        kind = self._accelerator()
        if kind is None:
            return "cpu", "gloo"
        backend, count = self._serving(kind), getattr(self._torch, kind).device_count()
        if backend and count >= self._size:
            return kind, backend
        self.report(notes=[["few", kind, count, self._size] if backend else ["unserved", kind]])
        return "cpu", "gloo"

    def _accelerator(self) -> "Optional[str]":
        """The kind of accelerator that torch knows and sees."""
        torch = self._torch
        current = getattr(getattr(torch, "accelerator", None), "current_accelerator", lambda: None)()
        private = getattr(torch._C, "_get_privateuse1_backend_name", lambda: "")()
        for kind in [private, "cuda", "xpu", "hpu"] if current is None else [current.type]:
            module = getattr(torch, kind, None)
            if hasattr(module, "device_count") and getattr(module, "is_available", lambda: True)():
                return str(kind)
        return None

    def _import_vendors(self, kind: str) -> None:
        """Import the packages that add a device to torch, as a script would; not where torch knows the device already."""
        for name in self._request["vendors"]:
            known = hasattr(self._torch, kind) if kind else self._accelerator()
            if not known and importlib.util.find_spec(name):
                importlib.import_module(name)
                self.report(notes=[["imported", name]])

    def _serving(self, kind: str) -> str:
        """The backend of a kind of device, "" where none is known."""
        backends = self._dist.Backend
        chosen = getattr(backends, "default_device_backend_map", {}).get(kind)
        able = [name for name, kinds in getattr(backends, "backend_capability", {}).items() if kind in kinds]
        able = [chosen, *(name for name in able if name not in _GENERAL), *(["nccl"] if kind == "cuda" else [])]
        return next((str(name) for name in able if name), "")

    def _served(self, backend: str) -> str:
        """The kind of device on which a backend is to be tried."""
        kinds = getattr(self._dist.Backend, "backend_capability", {}).get(backend, ["cuda"] if backend == "nccl" else ["cpu"])
        return "cpu" if "cpu" in kinds else str(next(iter(kinds), "cpu"))

    # what the ranks do together ---------------------------------------------------------------------------------------
    def _start(self) -> None:
        self._dist.init_process_group(self._backend, timeout=timedelta(seconds=self._request["limit"]))

    def _reduce(self) -> None:
        numbers = self._torch.full((_ELEMENTS,), float(self._rank + 1), device=self._device)
        self._dist.all_reduce(numbers)
        found = sorted({float(numbers.min()), float(numbers.max())})
        expected = self._size * (self._size + 1) / 2
        if found != [expected]:
            raise RuntimeError(f"the all-reduce gave {' to '.join(map(str, found))} on rank {self._rank}, expected {expected}")

    def _wait(self) -> None:
        self._dist.barrier()
        if hasattr(self._module, "synchronize"):
            self._module.synchronize()

    def _end(self) -> None:
        self._dist.destroy_process_group()


def _printed(error: BaseException) -> str:
    """Write a traceback without our own frames, as Python does; returns the first line of its message."""
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


def main(request: "Dict[str, Any]", report: str) -> None:
    """Do all steps, and end the process: what threads of a backend do at exit is no concern here."""
    threading.Thread(target=_end_with_the_command, daemon=True).start()
    faulthandler.enable()
    faulthandler.dump_traceback_later(max(0.1, request["until"] - time.time()), exit=True)  # shows where it hangs
    sys.path[:] = request["search"] + (sys.path if request["ahead"] else [])
    rank = Rank(request, report)
    for name, step in rank.steps:
        rank.report(inside=name)
        begun = time.monotonic()
        try:
            step()
        except BaseException as error:  # SystemExit of a vendor's package, too
            rank.report(problem=_printed(error)[:2000])
            os._exit(1)
        rank.report(steps=[[name, time.monotonic() - begun]], inside="")
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
