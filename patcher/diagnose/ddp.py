"""What DDP refuses in some releases of torch alone, by their sources (torch/nn/parallel/distributed.py). Pure.

1.4 to 1.6     device_ids, unless all parameters are on one CUDA device
1.7 and 1.8    device_ids for parameters on the CPU or on several devices
1.9 to 2.15    the same, and more than one device in device_ids
"""

from __future__ import annotations

from patcher.diagnose.rank import NO_DEVICE, Words, kinds_of, names, release, without_ids
from patcher.diagnose.report import Report
from patcher.diagnose.wrappers import DDP, family

_ANY_DEVICE, _ONE_ID = (1, 7), (1, 9)


def for_cuda(row: Report) -> bool:
    """Whether this torch takes device_ids for CUDA alone, and the model is on another card."""
    elsewhere = len(names(row.parameters)) == 1 and kinds_of(row.parameters)[0] not in (*NO_DEVICE, "cuda")
    return family(row) == DDP and bool(row.device_ids) and elsewhere and () < release(row.torch) < _ANY_DEVICE


def tell_for_cuda(row: Report) -> Words:
    """That it refuses them for any other card."""
    kind = kinds_of(row.parameters)[0]
    return f"DDP of torch {row.torch} takes device_ids for CUDA alone, and refuses them for {kind}", without_ids(row)


def too_many(row: Report) -> bool:
    """Whether device_ids name several devices, of which this torch takes one."""
    several = len(row.device_ids or ()) > 1
    return family(row) == DDP and several and not () < release(row.torch) < _ONE_ID


def tell_too_many(row: Report) -> Words:
    """That it takes one."""
    return "device_ids name several devices, and DDP takes one, from torch 1.9 on", "one process for each device"
