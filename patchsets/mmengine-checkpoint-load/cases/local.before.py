# case: mmengine/runner/checkpoint.py
import torch


def load_from_local(filename, map_location):
    checkpoint = torch.load(filename, map_location=map_location)
    return checkpoint


def load_from_ceph(filename, map_location=None):
    return torch.load(buffer, map_location=map_location)
