import torch
from torchvision.transforms.functional import rgb_to_grayscale  # grey
