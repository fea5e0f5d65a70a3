"""Print a config, which yapf formats."""

import yapf
from mmengine import Config

print(f"yapf {yapf.__version__} formats a config: {Config({'lr': 0.1}).pretty_text.strip()}")
