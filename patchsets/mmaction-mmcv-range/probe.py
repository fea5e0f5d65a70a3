"""Import what refused its neighbour."""

import mmaction
import mmcv

print(f"MMAction2 {mmaction.__version__} is imported beside MMCV {mmcv.__version__}")
