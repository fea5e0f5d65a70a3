"""Import what refused its neighbour."""

import mmcv
import mmdet

print(f"MMDetection {mmdet.__version__} is imported beside MMCV {mmcv.__version__}")
