"""Import what refused its neighbour."""

import mmcv
import mmseg

print(f"MMSegmentation {mmseg.__version__} is imported beside MMCV {mmcv.__version__}")
