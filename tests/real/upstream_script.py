"""On each of two ranks of the stand-in musa: `_broadcast_object_list` in a group of mccl, and LOCAL_RANK after MPI's start."""

import os
import sys

import torch
import torch_musa  # noqa: F401  (the stand-in registers mccl)
from mmengine.dist import dist, utils

rank = int(os.environ["RANK"])
try:
    if sys.argv[1] == "objects":
        torch.musa.set_device(rank)
        torch.distributed.init_process_group("mccl")
        objects = [{"from": rank}, "a" * 100 * (1 - rank)]
        dist._broadcast_object_list(objects)
        print("got", rank, objects == [{"from": 0}, "a" * 100], flush=True)
    else:
        known = {name: os.environ.pop(name) for name in ("LOCAL_RANK", "RANK", "WORLD_SIZE")}
        os.environ.update({f"OMPI_COMM_WORLD_{name.replace('WORLD_', '')}": text for name, text in known.items()})
        torch.cuda.set_device = lambda index: None  # this torch has no CUDA
        utils._init_dist_mpi("gloo")
        print("got", rank, os.environ.get("LOCAL_RANK"), flush=True)
except Exception as error:
    print("got", rank, f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
os._exit(0)
