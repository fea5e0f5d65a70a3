# case: mmengine/structures/instance_data.py
import torch


class InstanceData(BaseDataElement):
    def __getitem__(self, item):
        assert isinstance(item, IndexType.__args__)
        if isinstance(item, BoolTypeTensor.__args__):
            assert len(item) == len(self)
        return item
