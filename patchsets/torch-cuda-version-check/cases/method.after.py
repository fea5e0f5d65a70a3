import warnings


class BuildExtension:
    def _check_cuda_version(self):
        if cuda_ver.major != torch_cuda_version.major:
            warnings.warn(CUDA_MISMATCH_MESSAGE.format(cuda_str_version, torch.version.cuda))
