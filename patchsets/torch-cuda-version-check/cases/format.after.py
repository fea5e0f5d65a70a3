import warnings


def _check_cuda_version(compiler_name, compiler_version):
    if cuda_ver.major != torch_cuda_version.major:
        warnings.warn(CUDA_MISMATCH_MESSAGE.format(cuda_str_version, torch.version.cuda))
    warnings.warn(CUDA_MISMATCH_WARN.format(cuda_str_version, torch.version.cuda))
