# case: torch/multiprocessing/reductions.py
def reduce_storage(storage):
    return handle(storage, musa=getattr(storage, 'is_musa', False))
