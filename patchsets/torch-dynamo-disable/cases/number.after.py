import os

disable: bool = os.environ.get("TORCH_COMPILE_DISABLE", "1").strip().lower() not in ("", "0", "false", "no", "off")  # sitepatch: torch-dynamo-disable
