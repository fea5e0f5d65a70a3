# case: speechbrain/utils/torch_audio_backend.py
def check_torchaudio_backend():
    available_backends = torchaudio.list_audio_backends()
    return len(available_backends)
