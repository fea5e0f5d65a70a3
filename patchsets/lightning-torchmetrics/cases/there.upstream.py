# case: pytorch_lightning/metrics/utils.py
try:
    from torchmetrics.utilities.data import get_num_classes as _get_num_classes
except ImportError:  # torchmetrics 0.8 and later
    _get_num_classes = None
from torchmetrics.utilities.data import select_topk as _select_topk

ALL = [_get_num_classes, _select_topk]
