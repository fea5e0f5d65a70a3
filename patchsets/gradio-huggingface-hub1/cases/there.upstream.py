# case: gradio/oauth.py
from huggingface_hub import get_token, whoami


def _get_mocked_oauth_info():
    token = get_token()
    return whoami(token=token)
