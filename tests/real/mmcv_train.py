"""Train a layer for a step with MMCV 1.x on two ranks on the CPU; each says when both have the same weights."""

import torch
import torch.distributed as dist
from mmcv.parallel import MMDistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = MMDistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(3, 2) * dist.get_rank()).sum().backward()
optimizer.step()
weights = [torch.empty_like(model.module.weight) for _ in range(2)]
dist.all_gather(weights, model.module.weight.detach())
assert torch.equal(*weights)
print("trained", flush=True)
dist.destroy_process_group()
