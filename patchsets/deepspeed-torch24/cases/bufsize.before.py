# case: deepspeed/autotuning/scheduler.py 0.14.0
from numpy import BUFSIZE
import json
from .constants import AUTOTUNING, AUTOTUNING_METRIC_PATH
