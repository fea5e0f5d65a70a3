import inspect


def depends_on(*names):
    def _depends_on(func):
        return 'out' in inspect.getfullargspec(func).args
    return _depends_on


class ChLambda:
    def __init__(self, lmb):
        self.args = inspect.getfullargspec(lmb)[0]
