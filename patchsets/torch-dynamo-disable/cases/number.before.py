# case: torch/_dynamo/config.py 2.8.0
import os

disable: bool = os.environ.get("TORCH_COMPILE_DISABLE", "0") == "1"
