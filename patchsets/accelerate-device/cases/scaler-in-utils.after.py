import torch


class Accelerator:
    def __init__(self):
        if self.device.type not in (*("cuda", "npu", "xpu"), torch._C._get_privateuse1_backend_name()) or is_torch_xla_available(check_is_tpu=True):
            raise ValueError("fp16 mixed precision requires a device in the list")
        kwargs = self.scaler_handler.to_kwargs()
        self.scaler = get_grad_scaler(self.distributed_type, **kwargs)

    def prepare(self, *args):
        tpu_should_fix_optimizer = self.device_placement and (
            self.distributed_type == DistributedType.XLA
            or (self.distributed_type == DistributedType.NO or self.distributed_type.startswith("MULTI_"))
            and self.device.type == torch._C._get_privateuse1_backend_name()
        )
        if tpu_should_fix_optimizer:
            old_named_params = self._get_named_parameters(*args)
