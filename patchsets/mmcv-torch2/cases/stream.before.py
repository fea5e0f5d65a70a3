# case: mmcv/parallel/_functions.py
import torch
class Scatter:
    @staticmethod
    def forward(target_gpus, input):
        return [_get_stream(device) for device in target_gpus]
