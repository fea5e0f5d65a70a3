# case: pytorch_lightning/metrics/utils.py
from torchmetrics.utilities.data import get_num_classes as _get_num_classes
from torchmetrics.utilities.data import select_topk as _select_topk

ALL = [_get_num_classes, _select_topk]
