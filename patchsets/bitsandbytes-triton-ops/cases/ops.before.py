# case: bitsandbytes/triton/triton_utils.py
import importlib


def is_triton_available():
    return importlib.util.find_spec("triton") is not None
