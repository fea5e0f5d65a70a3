"""Import what refused its neighbour."""

import mmcv
import mmdet3d

print(f"MMDetection3D {mmdet3d.__version__} is imported beside MMCV {mmcv.__version__}")
