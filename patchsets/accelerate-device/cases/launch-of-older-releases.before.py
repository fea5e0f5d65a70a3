# case: accelerate/commands/launch.py
import torch

from accelerate.utils import is_npu_available


def _validate_launch_command(args):
    if args.num_processes is None:
        if is_npu_available():
            args.num_processes = torch.npu.device_count()
        else:
            args.num_processes = torch.cuda.device_count()
    if (
        not args.multi_gpu
        and args.num_processes > 1
        and (
            (is_npu_available() and torch.npu.device_count() > 1)
            or (torch.cuda.device_count() > 1)
        )
    ):
        args.multi_gpu = True
