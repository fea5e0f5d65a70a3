# case: mmengine/dist/dist.py
def _broadcast_object_list(object_list, src=0, group=None):
    object_tensor = packed(object_list)
    if is_nccl_backend or is_hccl_backend or is_cncl_backend:
        object_tensor = object_tensor.to(current_device)
    torch_dist.broadcast(object_tensor, src=src, group=group)
