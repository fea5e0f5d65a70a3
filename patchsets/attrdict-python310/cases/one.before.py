# case: attrdict/merge.py
from collections import Mapping

merged = Mapping
