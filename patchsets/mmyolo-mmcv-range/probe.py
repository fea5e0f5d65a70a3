"""Import what refused its neighbour."""

import mmcv
import mmyolo

print(f"MMYOLO {mmyolo.__version__} is imported beside MMCV {mmcv.__version__}")
