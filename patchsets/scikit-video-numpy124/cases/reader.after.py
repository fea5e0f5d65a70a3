import numpy as np


class FFmpegReader:
    def __init__(self, parts):
        self.inputfps = float(parts[0]) / float(parts[1])
        self.inputdepth = int(parts[2])
