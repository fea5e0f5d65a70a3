import torch


class InstanceData(BaseDataElement):
    def __getitem__(self, item):
        assert isinstance(item, (str, slice, int, torch.LongTensor, torch.cuda.LongTensor, torch.BoolTensor, torch.cuda.BoolTensor)) or isinstance(item, torch.Tensor) and item.dtype in (torch.bool, torch.int64)
        if isinstance(item, torch.Tensor) and item.dtype == torch.bool:
            assert len(item) == len(self)
        return item
