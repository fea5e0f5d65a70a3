# case: transformers/dynamic_module_utils.py
import importlib


def check_imports(filename):
    imports = get_imports(filename)
    missing_packages = []
    for imp in imports:
        try:
            importlib.import_module(imp)
        except ImportError:
            missing_packages.append(imp)
    return missing_packages
