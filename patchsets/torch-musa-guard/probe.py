"""Reduce a storage to what is sent to another process, without torch_musa."""

import inspect
import os

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # torch would import torch_musa by itself, and with it is_musa

import torch
from torch.multiprocessing.reductions import reduce_storage

tensor = torch.ones(3)
storage = getattr(tensor, "untyped_storage", tensor.storage)()  # torch 1.13 has only storage()
reduce_storage(storage)
if "is_musa" not in inspect.getsource(reduce_storage):
    print("not needed: reduce_storage of this torch does not ask for is_musa; it reduced a storage")
else:
    print("reduce_storage reduced a storage; is_musa is " + str(getattr(storage, "is_musa", "not there")))
