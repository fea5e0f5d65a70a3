# case: pytorchvideo/transforms/augmentations.py
import torch
import torchvision.transforms.functional as F_t  # affine
