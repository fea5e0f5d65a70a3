# case: torch/_dynamo/eval_frame.py 2.3.1
import os


def optimize(backend="inductor", *, nopython=False, disable=False):
    check_if_dynamo_supported()
    if disable or os.environ.get("TORCHDYNAMO_DISABLE", "") == "1":
        return _NullDecorator()
    return _optimize_catch_errors(backend)
