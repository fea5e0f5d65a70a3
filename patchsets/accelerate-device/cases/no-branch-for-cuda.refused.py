# case: accelerate/state.py
import torch


class PartialState:
    def _prepare_backend(self, cpu, sagemaker_dp, backend):
        if is_npu_available():
            backend = "hccl"
            distributed_type = DistributedType.MULTI_NPU
        elif has_cuda():
            if backend is None:
                backend = "nccl"
            distributed_type = DistributedType.MULTI_GPU
        else:
            backend = "gloo"
            distributed_type = DistributedType.MULTI_CPU
        return backend, distributed_type

    def set_device(self):
        if self.distributed_type == DistributedType.MULTI_NPU:
            device = "npu"
        elif self.distributed_type == DistributedType.MULTI_GPU:
            device = "cuda"
        self.device = torch.device(device, self.local_process_index)

    @property
    def default_device(self):
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("cpu")
