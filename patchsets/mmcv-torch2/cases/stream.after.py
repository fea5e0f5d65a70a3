import torch
class Scatter:
    @staticmethod
    def forward(target_gpus, input):
        return [_get_stream(torch.device("cuda", device) if hasattr(torch, "compiler") else device) for device in target_gpus]
