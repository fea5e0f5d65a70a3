# case: torch/multiprocessing/reductions.py
def reduce_storage(storage):
    if storage.is_cuda:
        raise RuntimeError("not this one")
    elif storage.is_musa:  # a vendor's line
        raise RuntimeError("nor this one")
    return handle(storage, musa=(storage . is_musa))


def reduce_tensor(tensor):
    return tensor.is_musa or tensor.storage.is_musa
