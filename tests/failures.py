"""Faults of the system that a test makes: calls that fail where no real disk, kernel or clock could be made to.

Functions of `os`, `fcntl`, `time` and the like are replaced, none of sitepatch.
"""

import os
import time
from pathlib import Path


def raising(error):
    """A function that raises `error`, whatever it is called with."""

    def call(*_, **__):
        raise error

    return call


def fail(monkeypatch, module, name, error):
    """Let every call of MODULE.NAME raise `error`."""
    monkeypatch.setattr(module, name, raising(error))


def before(monkeypatch, module, name, act):
    """Call `act` with the arguments of each call of MODULE.NAME before it is carried out: another process does something, say."""
    real = getattr(module, name)

    def call(*words, **more):
        act(*words, **more)
        return real(*words, **more)

    monkeypatch.setattr(module, name, call)


def after(monkeypatch, module, name, act):
    """As `before`, once it has been carried out."""
    real = getattr(module, name)

    def call(*words, **more):
        result = real(*words, **more)
        act(*words, **more)
        return result

    monkeypatch.setattr(module, name, call)


def fail_once(monkeypatch, module, name, error, when=lambda *_, **__: True):
    """Let the next call of MODULE.NAME raise `error`, or the next one whose arguments `when` is true for."""
    real, failed = getattr(module, name), []

    def call(*words, **more):
        if failed or not when(*words, **more):
            return real(*words, **more)
        failed.append(words)
        raise error

    monkeypatch.setattr(module, name, call)


def broken_pipe():
    """A descriptor of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


STDERRS = {  # what stderr may be: a function that opens it, and a redirection for a shell
    "a file": (lambda: os.open(os.devnull, os.O_WRONLY), ""),
    "full": (lambda: os.open("/dev/full", os.O_WRONLY), ""),
    "broken": (broken_pipe, ""),
    "closed": (lambda: os.open(os.devnull, os.O_WRONLY), "2>&-"),
}


class Clock:
    """A clock that stands still but for what is slept: `now` in seconds, `slept` as it was asked for."""

    def __init__(self, monkeypatch, now=1000.0):
        self.now, self.slept = now, []
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def kernel_that_tells(monkeypatch, proc):
    """Let the folder `proc` stand for /proc, of which no file of a test can make another one; returns it.

    Where it has no file `locks`, the kernel tells nobody who holds a lock.
    """
    monkeypatch.setattr("patcher.system.flock._PROC", Path(proc))
    return Path(proc)
