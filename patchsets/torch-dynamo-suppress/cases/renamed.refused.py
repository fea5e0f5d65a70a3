# case: torch/_dynamo/config.py
import os

suppress = bool(os.environ.get("TORCHDYNAMO_SUPPRESS_ERRORS", False))
