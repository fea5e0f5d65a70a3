"""Import what refused its neighbour."""

import mmcv
import mmpretrain

print(f"MMPretrain {mmpretrain.__version__} is imported beside MMCV {mmcv.__version__}")
