import os

# comments above stay
suppress_errors: bool = os.environ.get('TORCHDYNAMO_SUPPRESS_ERRORS', "1").strip().lower() not in ("", "0", "false", "no", "off")  # sitepatch: torch-dynamo-suppress
verbose = bool(os.environ.get("TORCHDYNAMO_VERBOSE", False))
