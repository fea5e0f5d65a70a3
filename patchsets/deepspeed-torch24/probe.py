"""Import what failed."""

import torch
from deepspeed.autotuning.scheduler import BUFSIZE
from deepspeed.elasticity.elastic_agent import DSElasticAgent

print(f"{DSElasticAgent.__name__} is imported with torch {torch.__version__}; the autotuner's buffer is {BUFSIZE}")
