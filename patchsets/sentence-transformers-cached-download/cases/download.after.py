from huggingface_hub import HfApi, hf_hub_url, hf_hub_download, HfFolder


def snapshot_download(repo_id, model_info, model_file, storage_folder, library_name, library_version, user_agent, use_auth_token):
    cached_download_args = {"url": hf_hub_url(repo_id, filename=model_file.rfilename)}
    path = hf_hub_download(
        repo_id,
        model_file.rfilename,
        revision=model_info.sha,
        local_dir=storage_folder,
        library_name=library_name,
        library_version=library_version,
        user_agent=user_agent,
        token=use_auth_token,
    )
    return path, HfApi, HfFolder
