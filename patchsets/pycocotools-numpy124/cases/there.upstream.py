# case: pycocotools/cocoeval.py
import numpy as np


class COCOeval:
    def accumulate(self, tps, fps):
        tp_sum = np.cumsum(tps, axis=1).astype(dtype=float)
        fp_sum = np.cumsum(fps, axis=1).astype(dtype=float)
        return tp_sum, fp_sum
