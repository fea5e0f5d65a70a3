from huggingface_hub import HfFolder, hf_hub_download, model_info


def get_cached_module_file(pretrained_model_name_or_path, github_url, revision, cache_dir):
    resolved_module_file = hf_hub_download(
        "diffusers/community-pipelines-mirror",
        f"{revision}/{pretrained_model_name_or_path}.py",
        repo_type="dataset",
        cache_dir=cache_dir,
        use_auth_token=False,
    )
    return resolved_module_file, HfFolder, model_info
