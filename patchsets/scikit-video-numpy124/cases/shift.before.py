# case: skvideo/motion/gme.py
import numpy as np


def edges(frame):
    return frame if frame.dtype == np.bool else frame > 0
