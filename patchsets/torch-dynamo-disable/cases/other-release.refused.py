# case: torch/_dynamo/config.py 2.7.1
import os

disable: bool = os.environ.get("TORCH_COMPILE_DISABLE", "0") == "1"
