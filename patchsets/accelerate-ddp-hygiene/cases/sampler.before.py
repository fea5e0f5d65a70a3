# case: accelerate/data_loader.py 1.15.0
import torch


class SeedableRandomSampler(RandomSampler):
    def __init__(self, *args, **kwargs):
        """Upstream's docstring."""
        super().__init__(*args, **kwargs)
        self.initial_seed = torch.random.initial_seed()


def prepare_data_loader(dataloader, rng_types=None, synchronized_generator=None):
    if rng_types is not None and (synchronized_generator is None) and ('generator' in rng_types):
        rng_types.remove("generator")
    return dataloader
