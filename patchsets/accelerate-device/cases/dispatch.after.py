import torch


def dispatch_model(model, device_map):
    if len(set(device_map.values())) == 1:
        device = list(device_map.values())[0]
        if is_npu_available() and isinstance(device, int):
            device = f"npu:{device}"
        elif is_musa_available() and isinstance(device, int):
            device = f"musa:{device}"
        model.to(device)
    return model
