# case: pytorchvideo/transforms/augmentations.py
import torch
import torchvision.transforms.functional_tensor as F_t  # affine
