import json
from .constants import AUTOTUNING, AUTOTUNING_METRIC_PATH, BUFSIZE
