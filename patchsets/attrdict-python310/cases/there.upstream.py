# case: attrdict/mixins.py
from abc import ABCMeta
from collections.abc import Mapping, MutableMapping, Sequence
import re
