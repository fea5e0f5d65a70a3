"""What DDP refuses in some releases of torch only, by their sources (torch/nn/parallel/distributed.py); as in `rank`. Pure.

1.4 to 1.6     device_ids, unless all parameters are on one CUDA device
1.7 and 1.8    device_ids for parameters on the CPU or on several devices
1.9 to 2.15    the same, and more than one device in device_ids
"""

from __future__ import annotations

from typing import Optional

from patcher.diagnose.rank import NO_DEVICE, Message, kinds_of, names, version_numbers, without_ids
from patcher.diagnose.report import Report

_ANY_DEVICE, _ONE_ID = (1, 7), (1, 9)


def ids_for_cuda(row: Report) -> Optional[Message]:
    """This torch takes device_ids for CUDA alone, and the model is on another kind of device."""
    old = () < version_numbers(row.torch) < _ANY_DEVICE
    if not row.device_ids or len(names(row.parameters)) != 1 or not old:
        return None
    kind = kinds_of(row.parameters)[0]
    if kind in (*NO_DEVICE, "cuda"):
        return None
    return f"DDP of torch {row.torch} takes device_ids for CUDA alone, and refuses them for {kind}", without_ids(row)


def several_ids(row: Report) -> Optional[Message]:
    """device_ids name several devices, of which this torch takes one."""
    if len(row.device_ids or ()) < 2 or () < version_numbers(row.torch) < _ONE_ID:
        return None
    return "device_ids name several devices, and DDP takes one, from torch 1.9 on", "one process for each device"
