# case: torch/_dynamo/config.py 2.7.1
import os

disable = os.environ.get("TORCH_COMPILE_DISABLE", False)
