class BaseStrategy:
    pass


from mmengine.dist.utils import _sitepatch_ddp_watch  # sitepatch: mmengine-ddp-debug

BaseStrategy.__init_subclass__ = classmethod(_sitepatch_ddp_watch)
