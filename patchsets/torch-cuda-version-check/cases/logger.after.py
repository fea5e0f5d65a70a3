def _check_cuda_version(compiler_name, compiler_version):
    if cuda_ver.major != torch_cuda_version.major:
        logger.warning(CUDA_MISMATCH_MESSAGE, cuda_str_version, torch.version.cuda)
    logger.warning(CUDA_MISMATCH_WARN, cuda_str_version, torch.version.cuda)
