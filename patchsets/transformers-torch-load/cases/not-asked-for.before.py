# case: transformers/utils/import_utils.py
def check_torch_load_is_safe() -> None:
    if not is_torch_greater_or_equal("2.6"):
        raise ValueError("upgrade torch")
