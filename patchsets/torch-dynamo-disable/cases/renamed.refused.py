# case: torch/_dynamo/eval_frame.py 2.13.0
import os


def _optimize(rebuild_ctx, backend="inductor", *, nopython=False, disable=False):
    if disable or os.environ.get("TORCH_COMPILE_DISABLE", "") == "1":
        return _NullDecorator()
    return _optimize_catch_errors(backend)
