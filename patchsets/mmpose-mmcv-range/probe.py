"""Import what refused its neighbour."""

import mmcv
import mmpose

print(f"MMPose {mmpose.__version__} is imported beside MMCV {mmcv.__version__}")
