# case: mmengine/runner/runner.py
class Runner:
    def wrap_model(self, cfg, net):
        net = net.to(get_device())
        if not self.distributed:
            return net
        if cfg is None:
            net = MMDistributedDataParallel(device_ids=[0], find_unused_parameters=True, module=net)
        else:
            args = dict(module=net)
            net = MODEL_WRAPPERS.build(cfg, default_args=args)
        return net
