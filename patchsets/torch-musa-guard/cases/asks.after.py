def reduce_storage(storage):
    if storage.is_cuda:
        raise RuntimeError("not this one")
    elif getattr(storage, "is_musa", False):  # a vendor's line
        raise RuntimeError("nor this one")
    return handle(storage, musa=(getattr(storage, "is_musa", False)))


def reduce_tensor(tensor):
    return tensor.is_musa or tensor.storage.is_musa
