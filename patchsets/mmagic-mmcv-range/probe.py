"""Import what refused its neighbour."""

import mmagic
import mmcv

print(f"MMagic {mmagic.__version__} is imported beside MMCV {mmcv.__version__}")
