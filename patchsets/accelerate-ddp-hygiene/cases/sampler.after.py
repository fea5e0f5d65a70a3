import torch


class SeedableRandomSampler(RandomSampler):
    def __init__(self, *args, **kwargs):
        """Upstream's docstring."""
        from .utils.random import _sitepatch_shared_seed  # sitepatch: accelerate-ddp-hygiene
        super().__init__(*args, **kwargs)
        self.initial_seed = _sitepatch_shared_seed()


def prepare_data_loader(dataloader, rng_types=None, synchronized_generator=None):
    from .utils.random import _sitepatch_asked  # sitepatch: accelerate-ddp-hygiene
    if _sitepatch_asked and rng_types is not None and 'generator' not in rng_types:
        rng_types.append('generator')
    if rng_types is not None and (synchronized_generator is None) and ('generator' in rng_types):
        rng_types.remove("generator")
    return dataloader
