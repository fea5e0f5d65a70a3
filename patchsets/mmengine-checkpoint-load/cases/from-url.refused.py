# case: mmengine/runner/checkpoint.py
def load_from_http(filename, map_location=None):
    checkpoint = load_url(filename, map_location=map_location)
    return checkpoint
