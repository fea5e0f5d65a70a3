# case: transformers/utils/import_utils.py
def check_torch_load_is_safe() -> None:
    return
