"""What a rank of `diagnose --ranks` chooses and does, step by step, on fakes of PyTorch with a few names."""

import faulthandler
import json
import os
import subprocess
import sys
import threading
import time
from datetime import timedelta
from types import SimpleNamespace

import pytest

from patcher.diagnosis import child
from tests.command import ROOT, environ

SERVED = {"gloo": ["card", "cpu"], "hccl": ["npu"], "nccl": ["cuda"], "ccl": ["card"], "fake": ["card"]}


def pytorch(cards=None, private="privateuseone", current=None, served=SERVED, defaults=None, **more):
    """A fake PyTorch with this many cards of each kind, `private` by a vendor's package; it records the calls."""
    calls = []

    def called(name, result=None):
        def call(*args, **named):
            calls.append((name, *args, *named.values()))
            return result or (name, *args)

        return call

    def module(count):
        names = ("set_device", "synchronize")
        return SimpleNamespace(device_count=lambda: count, is_available=lambda: count > 0, **{name: called(name) for name in names})

    backends = SimpleNamespace(**({} if served is None else {"backend_capability": served, "default_device_backend_map": defaults or {}}))
    names = ("init_process_group", "all_reduce", "barrier", "destroy_process_group")
    dist = SimpleNamespace(Backend=backends, is_available=lambda: True, **{name: called(name) for name in names})
    numbers = SimpleNamespace(min=lambda: 6.0, max=lambda: 6.0)
    torch = SimpleNamespace(__version__="9.9", distributed=dist, _C=SimpleNamespace(_get_privateuse1_backend_name=lambda: private), calls=calls)
    torch.device = lambda *parts: ":".join(map(str, parts))
    torch.full = called("full", numbers)
    torch.cpu = SimpleNamespace(device_count=lambda: 1)  # it is no card
    torch.numbers = numbers
    for kind, count in (cards or {}).items():
        setattr(torch, kind, module(count))
    if current:
        torch.accelerator = SimpleNamespace(current_accelerator=lambda: SimpleNamespace(type=current))
    vars(torch).update(more)
    return torch


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """Run a rank in this process; returns its exit code, its last report and its calls. A call that would end this process is recorded."""

    def run(torch, rank=1, backend="", ahead=False, size=3, **more):
        code, watched = [], []

        def watch(name):
            def call(*args, **named):
                args = [each for each in args if not callable(each)]
                named = {key: value for key, value in named.items() if not callable(value)}
                watched.append((name, *args, named))
                return SimpleNamespace(start=lambda: watched.append("start"))

            return call

        def leave(number):
            code.append(number)
            sys.exit("ended")

        request = {"search": ["there"], "ahead": ahead, "until": 7.0, "limit": 9, "backend": backend, "vendors": [], **more}
        with monkeypatch.context() as patch:
            patch.setattr(threading, "Thread", watch("Thread"))
            for name in ("enable", "dump_traceback_later"):
                patch.setattr(faulthandler, name, watch(name))
            patch.setattr(os, "_exit", leave)
            patch.setattr(sys, "path", ["own"])
            patch.setitem(sys.modules, "torch", torch)
            patch.setitem(sys.modules, "torch.distributed", torch and torch.distributed)
            patch.setenv("RANK", str(rank))
            patch.setenv("WORLD_SIZE", str(size))
            with pytest.raises(SystemExit, match="ended"):
                child.main(request, str(tmp_path / "report"))
            assert sys.path == [*request["search"], *["own"] * ahead]
        assert watched == [("Thread", {"daemon": True}), "start", ("enable", {}), ("dump_traceback_later", 0.1, {"exit": True})]
        *_, last = map(json.loads, (tmp_path / "report").read_text().splitlines())
        return code, last, torch and torch.calls

    return run


FEW, UNSERVED = ["few", "cuda", 1, 2], ["unserved", "card"]


@pytest.mark.parametrize(
    ("torch", "asked", "chosen", "notes"),
    [
        (pytorch(), "", ("cpu", "gloo"), []),
        (pytorch({"cuda": 2}), "", ("cuda", "nccl"), []),
        (pytorch({"cuda": 2}, served=None), "", ("cuda", "nccl"), []),
        (pytorch({"cuda": 3}, defaults={"cuda": "xccl"}), "", ("cuda", "xccl"), []),
        (pytorch({"cuda": 1}), "", ("cpu", "gloo"), [FEW]),
        (pytorch({"cuda": 0}), "", ("cpu", "gloo"), []),
        (pytorch({"card": 2}), "", ("cpu", "gloo"), []),
        (pytorch({"card": 2}, private="card"), "", ("card", "ccl"), []),
        (pytorch({"card": 2, "cuda": 2}, private="card"), "", ("card", "ccl"), []),
        (pytorch({"card": 2}, private="card", served={"gloo": ["card"]}), "", ("cpu", "gloo"), [UNSERVED]),
        (pytorch({"card": 2}, private="card", served=None), "", ("cpu", "gloo"), [UNSERVED]),
        (pytorch({"npu": 2, "cuda": 2}, current="npu"), "", ("npu", "hccl"), []),
        (pytorch({"xpu": 2}, served={"xccl": ["xpu"]}), "", ("xpu", "xccl"), []),
        (pytorch({"hpu": 2}, served={"hccl": ["hpu"]}), "", ("hpu", "hccl"), []),
        (pytorch(xpu=SimpleNamespace()), "", ("cpu", "gloo"), []),
        (pytorch(xpu=SimpleNamespace(device_count=lambda: 2), served={"xccl": ["xpu"]}), "", ("xpu", "xccl"), []),
        (pytorch({"cuda": 2}), "gloo", ("cpu", "gloo"), []),
        (pytorch(), "nccl", ("cuda", "nccl"), []),
        (pytorch(served=None), "nccl", ("cuda", "nccl"), []),
        (pytorch(served=None), "hccl", ("cpu", "hccl"), []),
        (pytorch(served={"odd": []}), "odd", ("cpu", "odd"), []),
        (pytorch({"cuda": 1}), "hccl", ("npu", "hccl"), []),
        (pytorch({"cuda": 2}), "cpu:gloo,card:ccl", ("card", "cpu:gloo,card:ccl"), []),
        (pytorch({"cuda": 2}), "cpu:gloo", ("cpu", "cpu:gloo"), []),
    ],
)
def test_a_rank_takes_this_device_and_backend(ended, torch, asked, chosen, notes):
    _, last, _ = ended(torch, backend=asked, size=2)
    kind, _, _ = last["device"].partition(":")
    assert ((kind, last["backend"]), last["notes"]) == (chosen, notes)


@pytest.mark.parametrize(
    ("torch", "asked", "imported"),
    [
        (pytorch(), "", ["vendor_of_cards"]),
        (pytorch({"cuda": 2}), "", []),
        (pytorch({"cuda": 2}), "cpu:gloo,card:ccl", ["vendor_of_cards"]),
        (pytorch({"cuda": 2, "card": 0}), "cpu:gloo,card:ccl", []),
        (pytorch(), "cpu:gloo", []),
    ],
)
def test_the_package_of_a_vendor_is_imported_where_torch_knows_no_device(ended, torch, asked, imported, tmp_path):
    (tmp_path / "vendor_of_cards.py").write_text("")
    _, last, _ = ended(torch, backend=asked, size=2, search=[str(tmp_path)], vendors=["vendor_of_cards", "vendor_of_nothing"])
    assert last["notes"] == [["imported", name] for name in imported]
    assert bool(sys.modules.pop("vendor_of_cards", None)) == bool(imported)


STEPS = ["import torch", "device", "start", "all-reduce", "barrier", "end"]


@pytest.mark.parametrize(
    ("torch", "backend", "device", "calls"),
    [
        (pytorch({"cuda": 3}), "nccl", "cuda:1", [("set_device", 1), ("full", (1 << 18,), 2.0, "cuda:1"), ("synchronize",)]),
        (pytorch({"cuda": 1}), "nccl", "cuda:0", [("set_device", 0), ("full", (1 << 18,), 2.0, "cuda:0"), ("synchronize",)]),
        (pytorch({"cuda": 0}), "nccl", "cuda", [("full", (1 << 18,), 2.0, "cuda"), ("synchronize",)]),
        (pytorch(cuda=SimpleNamespace(device_count=lambda: 2)), "nccl", "cuda:1", [("full", (1 << 18,), 2.0, "cuda:1")]),
        (pytorch(), "nccl", "cuda", [("full", (1 << 18,), 2.0, "cuda")]),
        (pytorch(), "gloo", "cpu", [("full", (1 << 18,), 2.0, "cpu")]),
    ],
)
def test_a_rank_takes_these_steps(ended, torch, backend, device, calls):
    code, last, called = ended(torch, backend=backend, ahead=True)
    expected = [("init_process_group", backend, timedelta(seconds=9)), ("all_reduce", torch.numbers), ("barrier",), ("destroy_process_group",)]
    assert [call for call in called if call[0] in ("set_device", "full", "synchronize")] == calls
    assert [call for call in called if call not in calls] == expected
    assert (code, last["inside"], last["device"], last["backend"], last["torch"], last["notes"]) == ([0], "", device, backend, "9.9", [])
    assert [name for name, _ in last["steps"]] == STEPS and all(0 <= seconds < 60 for _, seconds in last["steps"])


def test_what_a_rank_raises_is_printed_without_our_frames(ended, capsys):
    torch = pytorch()
    torch.numbers.max = lambda: 7.0
    code, last, _ = ended(torch)
    assert (code, last["inside"], [name for name, _ in last["steps"]]) == ([1], "all-reduce", STEPS[:3])
    assert last["problem"] == "RuntimeError: the all-reduce gave 6.0 to 7.0 on rank 1, expected 6.0"
    assert capsys.readouterr().err == f"{last['problem']}\n"
    torch.distributed.barrier = lambda: {}["x" * 3000 + "\n"]
    torch.numbers.max = lambda: 6.0
    code, last, _ = ended(torch)
    assert (code, last["inside"], len(last["problem"])) == ([1], "barrier", 2000)
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "Traceback (most recent call last):" and printed[1].startswith(f'  File "{__file__}", line ') and len(printed) <= 5
    torch.distributed.is_available = lambda: False
    assert ended(torch)[1]["problem"] == "RuntimeError: this PyTorch was built without torch.distributed"
    torch.distributed.is_available = lambda: 1 + compile("a\nb c", "x", "eval")
    assert ended(torch)[1]["problem"] == 'File "x", line 2'
    capsys.readouterr()
    ended(None)
    assert capsys.readouterr().err == "ModuleNotFoundError: import of torch halted; None in sys.modules\n"


def test_the_process_ends_when_its_standard_input_is_closed(tmp_path):
    request = {"search": [str(ROOT / "tests/standin")], "ahead": True, "until": time.time() + 120, "limit": 60, "backend": "gloo", "vendors": []}
    command = [sys.executable, "-I", "-B", child.__file__, json.dumps(request), str(tmp_path / "report")]

    def code(deed):
        env = environ(STANDIN=str(tmp_path), STANDIN_DO=deed, RANK="0", WORLD_SIZE="1")
        with subprocess.Popen(command, env=env, cwd=str(tmp_path), stdin=subprocess.PIPE) as process:
            if deed:
                process.communicate(timeout=120)  # closes its standard input
            return process.wait(120)

    assert (code(""), code("0 start hang")) == (0, 1)
