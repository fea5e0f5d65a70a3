# case: sentence_transformers/util.py
from huggingface_hub import HfApi, hf_hub_url, cached_download, HfFolder


def snapshot_download(repo_id, model_info, model_file, storage_folder, library_name, library_version, user_agent, use_auth_token):
    cached_download_args = {"url": hf_hub_url(repo_id, filename=model_file.rfilename)}
    path = cached_download(**cached_download_args)
    return path, HfApi, HfFolder
