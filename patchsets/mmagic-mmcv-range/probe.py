"""Import what refused its neighbour."""

import mmcv
import mmagic

print(f"MMagic {mmagic.__version__} is imported beside MMCV {mmcv.__version__}")
