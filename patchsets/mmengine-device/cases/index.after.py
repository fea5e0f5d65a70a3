import torch


class InstanceData(BaseDataElement):
    def __getitem__(self, item):
        assert isinstance(item, IndexType.__args__) or isinstance(item, torch.Tensor) and item.dtype in (torch.bool, torch.int64)
        if isinstance(item, torch.Tensor) and item.dtype == torch.bool:
            assert len(item) == len(self)
        return item
