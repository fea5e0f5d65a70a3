# case: attrdict/mixins.py
from abc import ABCMeta
from collections import Mapping, MutableMapping, Sequence
import re
