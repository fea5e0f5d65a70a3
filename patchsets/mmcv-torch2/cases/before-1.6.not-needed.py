# case: mmcv/parallel/distributed.py
class MMDistributedDataParallel:
    def train_step(self, *inputs, **kwargs):
        return self.module.train_step(*inputs, **kwargs)
