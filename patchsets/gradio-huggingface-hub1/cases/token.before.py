# case: gradio/oauth.py
from huggingface_hub import HfFolder, whoami


def _get_mocked_oauth_info():
    token = HfFolder.get_token()
    return whoami(token=token)
