class Runner:
    def wrap_model(self, cfg, net):
        net = net.to(get_device())
        if not self.distributed:
            return net
        if cfg is None:
            from mmengine.dist.utils import _sitepatch_ddp_report  # sitepatch: mmengine-ddp-debug
            _sitepatch_ddp_report("Runner.wrap_model", net, lambda: [0])  # sitepatch: mmengine-ddp-debug
            net = MMDistributedDataParallel(device_ids=[0], find_unused_parameters=True, module=net)
        else:
            args = dict(module=net)
            from mmengine.dist.utils import _sitepatch_ddp_report  # sitepatch: mmengine-ddp-debug
            _sitepatch_ddp_report(  # sitepatch: mmengine-ddp-debug
                "Runner.wrap_model (model_wrapper_cfg)", args.get("module"), lambda: dict(args, **cfg).get("device_ids"), cfg)
            net = MODEL_WRAPPERS.build(cfg, default_args=args)
        return net


from mmengine.dist.utils import _sitepatch_ddp_watch  # sitepatch: mmengine-ddp-debug

_sitepatch_ddp_watch(Runner)
