# case: torch/utils/cpp_extension.py
def _check_cuda_version(compiler_name, compiler_version):
    logger.warning(CUDA_MISMATCH_WARN, cuda_str_version, torch.version.cuda)
