# case: torch/_dynamo/eval_frame.py 2.13.0
import os


def optimize(*args, **kwargs):
    def rebuild_ctx():
        return optimize(*args, **kwargs)

    return _optimize(rebuild_ctx, *args, **kwargs)


def _optimize(rebuild_ctx, backend="inductor", *, nopython=False, disable=False):
    if (
        disable
        # asked at every call
        or os.environ.get("TORCHDYNAMO_DISABLE", "") == "1"
        or (not justknobs_check("pytorch/compiler:enable_dynamo"))
    ):
        return _NullDecorator()
    return _optimize_catch_errors(backend)
