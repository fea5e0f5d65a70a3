"""A DataLoader with two workers; with the argument `musa` storages have `is_musa`, as after `import torch_musa`."""

import sys

import torch
from torch.multiprocessing.reductions import reduce_storage
from torch.utils.data import DataLoader, TensorDataset

if "musa" in sys.argv:
    torch.UntypedStorage.is_musa = property(lambda self: True)
    try:
        reduce_storage(torch.arange(3.0).untyped_storage())
    except RuntimeError as error:
        print("refused:", error)
else:
    total = sum(batch.sum().item() for (batch,) in DataLoader(TensorDataset(torch.arange(8.0)), 2, num_workers=2))
    print("total", total)
