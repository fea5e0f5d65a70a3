# case: mmengine/structures/instance_data.py
import torch


class InstanceData(BaseDataElement):
    def __getitem__(self, item):
        assert isinstance(item, (str, slice, int, torch.LongTensor, torch.cuda.LongTensor, torch.BoolTensor, torch.cuda.BoolTensor))
        if isinstance(item, (torch.BoolTensor, torch.cuda.BoolTensor)):
            assert len(item) == len(self)
        return item
