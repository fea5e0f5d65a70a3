# case: torch/_dynamo/config.py
import os

# comments above stay
suppress_errors: bool = bool(
    os.environ.get('TORCHDYNAMO_SUPPRESS_ERRORS', False)
)
verbose = bool(os.environ.get("TORCHDYNAMO_VERBOSE", False))
