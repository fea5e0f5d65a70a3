"""The report of mmengine-ddp-debug, taken out of its .spatch, and models made by hand that it is asked about."""

import json
import os
from pathlib import Path

from patcher.diagnosis.conclusions import conclude
from patcher.diagnosis.report import read_report
from patcher.patchset.places import builtin_dir
from tests.patchsets.standins import inserted

SPATCH = Path(builtin_dir()) / "mmengine-ddp-debug" / "ddp_debug.spatch"


def helper_source(params=5):
    return inserted(SPATCH, "--- mmengine/dist/utils.py").replace("$params", repr(params))


def helper(params=5, **beside):
    """The function of the patch, asked as a hunk asks it: `device_ids` gives what MMEngine names, `config` has what a config says.

    `beside` is what other patchsets have put into the same module.
    """
    names = {"os": os, **beside}
    exec(compile(helper_source(params), "ddp_debug.spatch", "exec"), names)

    def report(site, model, device_ids=lambda: None, config=None, before=()):
        defaults = (lambda: {"device_ids": device_ids()}) if device_ids else dict
        return names["_sitepatch_ddp_report"](site, model, before, defaults, config or {})

    return report


def facts_of(line):
    """The facts in the line of a report that is for programs."""
    kind, _, facts = line.partition(" ")
    assert kind == "sitepatch-ddp", line
    return json.loads(facts)


def read_output(out):
    """What a report printed: the lines for people, and the facts of the line for programs, which is the last one."""
    *lines, last = out.splitlines()
    return lines, facts_of(last)


class Tensor:
    def __init__(self, device="cpu", shape=(2, 3), dtype="torch.float32", requires_grad=True):
        self.device, self.shape, self.dtype, self.requires_grad = device, shape, dtype, requires_grad


class Model:
    def __init__(self, *parameters, buffers=()):
        self.parameters_, self.buffers_ = parameters, buffers

    def named_parameters(self):
        return ((f"layer{number}.weight", tensor) for number, tensor in enumerate(self.parameters_))

    def named_buffers(self):
        return ((f"layer{number}.mean", tensor) for number, tensor in enumerate(self.buffers_))


def warnings(facts):
    """What `diagnose` makes of the facts of one report."""
    return [conclusion.code for conclusion in conclude([read_report(1, facts)], ()) if conclusion.code != "missing"]
