# case: basicsr/data/degradations.py
import torch
from torchvision.transforms.functional_tensor import rgb_to_grayscale  # grey
