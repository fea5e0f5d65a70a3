from mmengine.device import get_device


def autocast(device_type=None, enabled=True):
    if torch.__version__ < '1.5':
        yield
    else:
        if device_type == 'cuda':
            pass
        else:
            if enabled is False:
                yield
                return
            else:
                if device_type != get_device() or device_type in ("cpu", "mps"):  # sitepatch: mmengine-device
                    raise ValueError('User specified autocast device_type must be '
                                     f'cuda or cpu, but got {device_type}')
        with torch.autocast(device_type=device_type, enabled=enabled):
            yield
