# case: chumpy/__init__.py
from numpy import bool, int, float, complex, object, unicode, str, nan, inf


def test():
    pass
