# case: diffusers/utils/dynamic_modules_utils.py
from huggingface_hub import HfFolder, cached_download, hf_hub_download, model_info


def get_cached_module_file(pretrained_model_name_or_path, github_url, revision, cache_dir):
    resolved_module_file = cached_download(
        github_url,
        cache_dir=cache_dir,
        use_auth_token=False,
    )
    return resolved_module_file, HfFolder, model_info
