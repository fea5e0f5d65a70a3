"""Import what refused its neighbour."""

import mmcv
import mmocr

print(f"MMOCR {mmocr.__version__} is imported beside MMCV {mmcv.__version__}")
