"""Ask transformers whether it would read pickled weights here."""

import torch
from transformers.utils.import_utils import check_torch_load_is_safe

try:
    check_torch_load_is_safe()
except ValueError as error:
    print(f"refused with torch {torch.__version__}: {error}")
else:
    print(f"pickled weights are read with torch {torch.__version__}")
