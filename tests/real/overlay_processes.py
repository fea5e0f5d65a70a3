"""What processes that multiprocessing starts see of mmengine: whether the report is in the source, and where that lies."""

import inspect
import multiprocessing
import sys


def look(_):
    from mmengine.dist import utils
    from mmengine.runner import Runner

    text = inspect.getsource(Runner.wrap_model)
    code = utils._sitepatch_ddp_report.__code__
    return text.count("_sitepatch_ddp_report("), code.co_filename == utils.__file__, inspect.getmodule(code) is utils


if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(sys.argv[1], sorted(set(pool.map(look, range(4)))))
