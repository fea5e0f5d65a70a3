# case: pycocotools/cocoeval.py
import numpy as np


class COCOeval:
    def accumulate(self, tps, fps):
        tp_sum = np.cumsum(tps, axis=1).astype(dtype=np.float)
        fp_sum = np.cumsum(fps, axis=1).astype(dtype=np.float)
        return tp_sum, fp_sum
