# case: skvideo/io/ffmpeg.py
import numpy as np


class FFmpegReader:
    def __init__(self, parts):
        self.inputfps = np.float(parts[0]) / np.float(parts[1])
        self.inputdepth = np.int(parts[2])
