import torch


class PartialState:
    def _prepare_backend(self, cpu, sagemaker_dp, backend):
        if is_npu_available():
            backend = "hccl"
            distributed_type = DistributedType.MULTI_NPU
        elif torch.cuda.is_available():
            if backend is None:
                backend = "nccl"
            distributed_type = DistributedType.MULTI_GPU
        elif _sitepatch_accelerator():  # sitepatch: accelerate-device
            kind = _sitepatch_accelerator()
            backend = backend or f"cpu:gloo,{kind}:{torch.distributed.Backend.default_device_backend_map[kind]}"
            distributed_type = DistributedType.MULTI_GPU
        else:
            backend = "gloo"
            distributed_type = DistributedType.MULTI_CPU
        return backend, distributed_type

    def set_device(self):
        if self.distributed_type == DistributedType.MULTI_NPU:
            device = "npu"
        elif self.distributed_type == DistributedType.MULTI_GPU:
            device = _sitepatch_accelerator() or "cuda"
        self.device = torch.device(device, self.local_process_index)

    @property
    def default_device(self):
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device(_sitepatch_accelerator() or "cpu")


def _sitepatch_accelerator():  # sitepatch: accelerate-device
    """The kind of device that a vendor's package has added to torch; None beside CUDA, and where there is none."""
    kind = torch._C._get_privateuse1_backend_name()
    module = getattr(torch, kind, None)
    return kind if module and module.is_available() and not torch.cuda.is_available() else None
