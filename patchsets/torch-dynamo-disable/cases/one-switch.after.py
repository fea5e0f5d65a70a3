import os


def optimize(backend="inductor", *, nopython=False, disable=False):
    check_if_dynamo_supported()
    if disable or os.environ.get("TORCHDYNAMO_DISABLE", "1").strip().lower() not in ("", "0", "false", "no", "off"):
        return _NullDecorator()
    return _optimize_catch_errors(backend)
