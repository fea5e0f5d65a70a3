# case: speechbrain/utils/torch_audio_backend.py
def check_torchaudio_backend():
    available_backends = getattr(torchaudio, "list_audio_backends", lambda: ["torchcodec"])()
    return len(available_backends)
