import torch


def load_from_local(filename, map_location):
    checkpoint = _sitepatch_load(filename, map_location)
    return checkpoint


def load_from_ceph(filename, map_location=None):
    return torch.load(buffer, map_location=map_location)


def _sitepatch_load(filename, map_location, trust=False):  # sitepatch: mmengine-checkpoint-load
    """torch.load, which from 2.6 on also takes what MMEngine itself writes: histories of losses, and arrays of NumPy in them."""
    import pickle

    import numpy
    from mmengine.logging import HistoryBuffer

    def method(kind, name):
        """What a file has getattr for: the statistics of a history."""
        if kind is not HistoryBuffer or name not in ("min", "max", "mean", "current"):
            raise pickle.UnpicklingError("a checkpoint has no business with %s of %s" % (name, kind))
        return getattr(kind, name)

    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 6):
        return torch.load(filename, map_location=map_location)
    if trust:  # the file runs whatever code it holds
        return torch.load(filename, map_location=map_location, weights_only=False)
    arrays = getattr(numpy, "_core", None) or numpy.core  # NumPy 2 has renamed it; a file has the name of the NumPy that wrote it
    functions = [arrays.multiarray._reconstruct, arrays.multiarray.scalar]
    named = [(function, "numpy.%s.multiarray.%s" % (core, function.__name__)) for function in functions for core in ("core", "_core")]
    named.append((method, "builtins.getattr"))
    kinds = {type(numpy.dtype(name)) for name in "?bBhHiIlLqQefd"}
    with torch.serialization.safe_globals([HistoryBuffer, numpy.ndarray, numpy.dtype, *kinds, *named]):
        return torch.load(filename, map_location=map_location)
