"""A stand-in for PyTorch, for `diagnose --ranks`: ranks meet in the directory STANDIN (else
in that in which they are started), and do there what they are told to do.

STANDIN_DO holds lines "RANK STEP DEED", such as "1 barrier hang". A deed is hang, kill, wrong, fork (a
process that stays), or what is raised as RuntimeError.
"""

import os
import signal
import time
from pathlib import Path

__version__ = "9.9.9"
_FOLDER, _RANK = Path(os.environ.get("STANDIN", ".")), os.environ["RANK"]


def act(step):
    """Do what this rank is told to do in a step; whether the result of that step is to be wrong."""
    (_FOLDER / f"pid-{os.getpid()}").touch()
    for line in os.environ.get("STANDIN_DO", "").splitlines():
        rank, where, deed = line.split(" ", 2)
        if (rank, where) == (_RANK, step) and deed == "fork":
            if os.fork() == 0:
                time.sleep(600)
        elif (rank, where) == (_RANK, step) and deed != "wrong":
            (_FOLDER / f"{deed}-{_RANK}").touch()
            while deed == "hang":
                time.sleep(0.05)
            if deed == "kill":
                (_FOLDER / "dead").touch()
                os.kill(os.getpid(), signal.SIGSEGV)
            raise RuntimeError(deed)
        elif (rank, where) == (_RANK, step):
            return True
    return False


def meet(step):
    """Wait until every rank is in this step; whether the result is to be wrong."""
    wrong = act(step)
    (_FOLDER / f"{step}-{_RANK}").touch()
    while len(list(_FOLDER.glob(f"{step}-*"))) < int(os.environ["WORLD_SIZE"]):
        if (_FOLDER / "dead").exists():
            raise RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:17426")
        time.sleep(0.01)
    return wrong


class Card:
    """The module of a kind of device, `torch.card`."""

    def __init__(self, count):
        self.device_count = lambda: count
        self.set_device = lambda index: None
        self.is_available = lambda: True


class _C:
    @staticmethod
    def _get_privateuse1_backend_name():
        return "card" if "STANDIN_CARDS" in os.environ else "privateuseone"


card = Card(int(os.environ.get("STANDIN_CARDS", "0")))


def device(*parts):
    return ":".join(map(str, parts))


class Numbers:
    def __init__(self, value):
        self.least = self.most = value
        self.min, self.max = lambda: self.least, lambda: self.most


def full(shape, value, device):
    return Numbers(value)


act("import")
