# case: mmengine/logging/logger.py
import os

import torch


def _get_device_id():
    local_rank = int(os.getenv('LOCAL_RANK', '0'))
    if not torch.cuda.is_available():
        return local_rank
    cuda_visible_devices = os.getenv('CUDA_VISIBLE_DEVICES', None)
    if cuda_visible_devices is None:
        num_device = torch.cuda.device_count()
        cuda_visible_devices = list(range(num_device))
    else:
        cuda_visible_devices = cuda_visible_devices.split(',')
    try:
        return int(cuda_visible_devices[local_rank])
    except ValueError:
        return cuda_visible_devices[local_rank]
