"""Import what refused its neighbour."""

import mmcv
import mmrotate

print(f"MMRotate {mmrotate.__version__} is imported beside MMCV {mmcv.__version__}")
