"""Say which CUDA torch was compiled with, and where it looks for nvcc."""

import torch
from torch.utils import cpp_extension

print(f"torch was compiled with CUDA {torch.version.cuda}; nvcc is looked for in {cpp_extension.CUDA_HOME}")
