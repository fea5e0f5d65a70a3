"""A stand-in for a vendor's card: `gcu:0` and `gcu:1` are torch's own private-use devices, their memory is the host's.

Copied under the name torch_musa it is a card of the kind `musa`, which MMEngine knows, with what MMEngine asks of torch_musa.

It is no vendor's package and has nothing of one; it says nothing about speed, about streams, or about a transfer that is
missing, since every tensor is a CPU tensor under another label. What is real is everything above the kernels: which device a
parameter is on, what autograd, DDP and torch.distributed do with tensors of a device that torch itself has no kernel for,
and what they refuse. `eccl` (`mccl` for musa) is gloo under another name, for such tensors alone.

Tried on torch 2.13 (CPU build), with DDP, FSDP and MMEngine's Runner. Not there: LSTM, GRU, sparse tensors, inductor.
"""

import contextlib
import ctypes
import functools
import os
import types
import warnings

import torch
import torch.distributed as dist
from torch.library import Library, fallthrough_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME, COUNT = __name__.partition("_")[2], int(os.environ.get("GCU_COUNT", "2"))
BACKEND = {"gcu": "eccl", "musa": "mccl"}.get(NAME, f"{NAME}ccl")
CPU, CARD = 1, 12  # DLPack's numbers of a kind of device: kDLCPU, and kDLExtDev, which torch takes for its private one
_CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_state = {"current": 0}


# labels ---------------------------------------------------------------------------------------------------------------
class _DLTensor(ctypes.Structure):
    """The beginning of DLPack's struct, as far as the label of the device."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _labelled(tensor, kind, index):
    """The same memory as a tensor of another device."""
    if tensor.is_conj() or tensor.is_neg():
        raise NotImplementedError("the stand-in card has no lazy conjugation")
    if kind == CARD and not 0 <= index < COUNT:
        raise RuntimeError(f"invalid device number {index}: the stand-in has {COUNT} of them")
    capsule = torch._C._to_dlpack(tensor)
    label = _DLTensor.from_address(_pointer(capsule, b"dltensor"))
    label.device_type, label.device_id = kind, index
    return torch._C._from_dlpack(capsule)


def _on_card(value):
    return isinstance(value, torch.Tensor) and value.device.type == NAME


def _is_card(value):
    return isinstance(value, torch.device) and value.type == NAME


# operators ------------------------------------------------------------------------------------------------------------
class _Call:
    """The arguments of one call as CPU tensors, and the way back."""

    def __init__(self):
        self.own, self.index, self.resized, self.devices = {}, None, [], set()

    def down(self, value):
        if isinstance(value, torch.Tensor) and value.dim():
            self.devices.add(str(value.device))
        if _on_card(value):
            self.index = value.device.index if self.index is None else self.index
            empty = value.numel() == 0
            cpu = torch.empty(value.shape, dtype=value.dtype) if empty else _labelled(value, CPU, 0)
            self.own[id(cpu)] = value, cpu
            self.resized += [cpu] if empty else []
            return cpu
        if _is_card(value):
            self.index = value.index if self.index is None else self.index
            return torch.device("cpu")
        return value

    def up(self, value):
        """The caller's own tensor where an argument comes back, else the result on the card."""
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
            return value
        if id(value) in self.own:
            return self.own[id(value)][0]
        return _labelled(value, CARD, _state["current"] if self.index is None else self.index)


def _everything(op, *args, **kwargs):
    """Any operator: on the CPU, under the CPU's label."""
    call = _Call()
    args, kwargs = tree_map(call.down, (args, kwargs))
    if len(call.devices) > 1 and "index" not in str(op) and "foreach" not in str(op):  # those take indices, steps of the CPU
        raise RuntimeError(f"Expected all tensors to be on the same device, but found {', '.join(sorted(call.devices))} in {op}")
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False
    result = op(*args, **kwargs)
    for cpu in call.resized:  # an `out=` without elements was given some
        own = call.own[id(cpu)][0]
        if cpu.numel():
            moved = _labelled(cpu, CARD, own.device.index)
            own.set_(moved.untyped_storage(), 0, moved.shape, moved.stride())
    return tree_map(call.up, result)


def _same_memory(name):
    """A kernel of the CPU that only makes another tensor of the same storage: it need not know of the label."""
    operator = getattr(torch.ops.aten, name.partition(".")[0])
    overload = getattr(operator, name.partition(".")[2] or "default")
    return lambda *args, **kwargs: overload.redispatch(_CPU_KEYS, *args, **kwargs)


def _copy_from(source, target, non_blocking=False):
    there = _labelled(target, CPU, 0) if _on_card(target) else target
    there.copy_(_labelled(source, CPU, 0) if _on_card(source) else source)
    return target


def _resize(tensor, size, memory_format=None):
    fresh = torch.empty(size, dtype=tensor.dtype, device=tensor.device)
    kept = min(tensor.numel(), fresh.numel())
    if kept:
        fresh.view(-1)[:kept].copy_(tensor.reshape(-1)[:kept])
    return tensor.set_(fresh.untyped_storage(), 0, fresh.shape, fresh.stride())


def _convolution(tensor, weight, bias, *rest):
    return _everything(torch.ops.aten.convolution.default, tensor, weight, bias, *rest)


def _convolution_backward(gradient, tensor, weight, *rest):
    *rest, mask = rest
    sizes = [weight.shape[1 if rest[3] else 0] * (rest[5] if rest[3] else 1)]
    return _everything(torch.ops.aten.convolution_backward.default, gradient, tensor, weight, sizes, *rest, mask)


def _not_pinned(*args, **kwargs):
    return False


# SyncBN, of which torch has kernels for CUDA alone ------------------------------------------------------------------------
def _shaped(values, tensor):
    return values.view(1, -1, *[1] * (tensor.dim() - 2))


def _all_but_channels(tensor):
    return [dim for dim in range(tensor.dim()) if dim != 1]


def _batch_norm_stats(tensor, eps):
    dims = _all_but_channels(tensor)
    return tensor.mean(dims), (tensor.var(dims, unbiased=False) + eps).rsqrt()


def _batch_norm_gather_stats_with_counts(tensor, means, invstds, running_mean, running_var, momentum, eps, counts):
    shares, total = (counts / counts.sum()).view(-1, 1), counts.sum()
    mean = (means * shares).sum(0)
    variance = ((1 / invstds**2 - eps + (means - mean) ** 2) * shares).sum(0)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean * momentum)
        running_var.mul_(1 - momentum).add_(variance * total / (total - 1) * momentum)
    return mean, (variance + eps).rsqrt()


def _batch_norm_elemt(tensor, weight, bias, mean, invstd, eps):
    return (tensor - _shaped(mean, tensor)) * _shaped(invstd * weight, tensor) + _shaped(bias, tensor)


def _batch_norm_backward_reduce(gradient, tensor, mean, invstd, weight, *_):
    dims = _all_but_channels(tensor)
    sum_dy, sum_dy_xmu = gradient.sum(dims), (gradient * (tensor - _shaped(mean, tensor))).sum(dims)
    return sum_dy, sum_dy_xmu, sum_dy_xmu * invstd, sum_dy


def _batch_norm_backward_elemt(gradient, tensor, mean, invstd, weight, sum_dy, sum_dy_xmu, counts):
    total, distance = counts.sum(), tensor - _shaped(mean, tensor)
    slope = distance * _shaped(invstd**2 * sum_dy_xmu / total, tensor)
    return (gradient - _shaped(sum_dy / total, tensor) - slope) * _shaped(invstd * weight, tensor)


# collectives ----------------------------------------------------------------------------------------------------------
def _gloo(store, rank, size, timeout):
    return dist.ProcessGroupGloo(store, rank, size, timeout)


def _collective(name):
    """The same collective on the CPU's labels, by a group that is thrown away and has the same gloo for the CPU."""
    overload = getattr(torch.ops.c10d, name).default
    at = [argument.name for argument in overload._schema.arguments].index("process_group")

    def run(*args):
        group = dist.ProcessGroup.unbox(args[at])
        inner = dist.ProcessGroup(group.rank(), group.size())
        inner._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, group._get_backend(torch.device(NAME)))
        call = _Call()
        if name == "_allgather_base_":  # gloo cuts what it fills by its first dimension, whatever the shape
            args = [args[0].view(-1), args[1].view(-1), *args[2:]]
        args = [inner.boxed() if number == at else tree_map(call.down, each) for number, each in enumerate(args)]
        return tree_map(call.up, overload(*args))

    return run


# the module torch.gcu -------------------------------------------------------------------------------------------------
class _Mode(TorchFunctionMode):
    """`gcu` without a number is the current one; torch's own guard always says 0."""

    def __torch_function__(self, function, _, args=(), kwargs=None):
        if function is torch.device:
            return function(*args, **(kwargs or {}))
        args, kwargs = tree_map(_numbered, (args, kwargs or {}))
        if function is torch.Tensor.new_tensor and _is_card(args[0].device):
            kwargs.setdefault("device", args[0].device)
        return function(*args, **kwargs)


def _numbered(value):
    if (isinstance(value, str) and value == NAME) or (_is_card(value) and value.index is None):
        return torch.device(NAME, _state["current"])
    return value


def _index(device):
    if device is None:
        return _state["current"]
    index = device if isinstance(device, int) else torch.device(device).index
    return _state["current"] if index is None else index


def _set_device(device):
    index = _index(device)
    if not 0 <= index < COUNT:
        raise RuntimeError(f"invalid device number {index}: the stand-in has {COUNT} of them")
    _state["current"] = index


class _Device:
    """`with torch.gcu.device(1):`, as DDP does it."""

    def __init__(self, device):
        self.index = _index(device)

    def __enter__(self):
        self.before, _state["current"] = _state["current"], self.index

    def __exit__(self, *_):
        _state["current"] = self.before


class _Stream:
    def __init__(self, *_, **__):
        self.device = torch.device(NAME, _state["current"])

    def wait_stream(self, stream):
        """Nothing is under way: every kernel has ended when its call returns."""

    def synchronize(self, *_):
        """Likewise."""

    record = wait = wait_event = record_event = synchronize


def _module():
    module = types.ModuleType("torch." + NAME)
    module.is_available = lambda: COUNT > 0
    module.is_initialized = module.is_available
    module._is_in_bad_fork = lambda: False
    module.device_count = lambda: COUNT
    module.current_device = lambda: _state["current"]
    module.set_device = _set_device
    module.device = _Device
    module.Stream = module.Event = _Stream
    module.stream = lambda stream: _Device(None)
    module.current_stream = module.default_stream = lambda device=None: _Stream()
    module.synchronize = module.empty_cache = lambda device=None: None
    module.manual_seed = module.manual_seed_all = lambda seed: None  # random numbers are the host's
    module.get_rng_state = lambda device=None: torch.get_rng_state()
    module.get_rng_state_all = lambda: [torch.get_rng_state()] * COUNT
    module.set_rng_state = lambda state, device=None: None
    module.get_amp_supported_dtype = lambda: [torch.float16, torch.bfloat16, torch.float32]
    if NAME == "musa":
        module.amp = types.SimpleNamespace(autocast=_Autocast, GradScaler=functools.partial(torch.amp.GradScaler, NAME))
        module.max_memory_allocated = lambda device=None: 0
        module.get_device_name = lambda device=None: "stand-in"
        for name, kind in {"BoolTensor": torch.bool, "LongTensor": torch.int64}.items():
            setattr(module, name, _TypeOfTensor(name, (), {"kind": kind}))
    return module


class _Autocast(contextlib.nullcontext):
    """Kernels of the host take what they are given."""

    def __init__(self, **_):
        super().__init__()


class _TypeOfTensor(type):
    """As torch.cuda.BoolTensor: isinstance asks for the kind of device and of number."""

    def __instancecheck__(cls, value):
        return _on_card(value) and value.dtype == cls.kind


_VIEWS = ["as_strided", "view", "_reshape_alias", "unfold", "set_.source_Storage", "set_.source_Storage_storage_offset"]
_VIEWS += ["set_.source_Tensor", "set_"]
_KERNELS = {
    "_copy_from": _copy_from, "resize_": _resize, "record_stream": lambda tensor, stream: None,
    "convolution_overrideable": _convolution, "convolution_backward_overrideable": _convolution_backward,
    "is_pinned": _not_pinned, "batch_norm_stats": _batch_norm_stats, "batch_norm_elemt": _batch_norm_elemt,
    "batch_norm_gather_stats_with_counts": _batch_norm_gather_stats_with_counts,
    "batch_norm_backward_reduce": _batch_norm_backward_reduce, "batch_norm_backward_elemt": _batch_norm_backward_elemt,
}  # fmt: skip
_libraries = []  # what is registered lasts as long as these


def _library(namespace, key):
    _libraries.append(Library(namespace, "IMPL", key))
    return _libraries[-1]


def _resized_storages():
    """FSDP frees the memory of whole parameters, and asks whether it is there, by the size of a storage: that alone changes."""
    kind, record = torch.UntypedStorage, torch.Tensor.record_stream
    resize, nbytes = kind.resize_, kind.nbytes

    def resized(storage, size):
        if storage.device.type != NAME:
            return resize(storage, size)
        storage.size_on_card = size
        return storage

    kind.resize_ = resized
    kind.nbytes = lambda storage: storage.size_on_card if hasattr(storage, "size_on_card") else nbytes(storage)
    torch.Tensor.record_stream = lambda tensor, stream: None if _on_card(tensor) else record(tensor, stream)


def _copied_storages():
    """A storage is cloned and moved as the tensor of its bytes: torch's own way copies by a null pointer (EMA, resume)."""
    kind = torch.UntypedStorage
    clone, to = kind.clone, kind.to

    def bytes_of(storage):
        return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)

    def moved(storage, *, device, non_blocking=False):
        on_card = NAME in (storage.device.type, torch.device(device).type)
        return bytes_of(storage).to(device).untyped_storage() if on_card else to(storage, device=device, non_blocking=non_blocking)

    kind.clone = lambda storage: bytes_of(storage).clone().untyped_storage() if storage.device.type == NAME else clone(storage)
    kind.to = moved


def _setup():
    _copied_storages()
    _resized_storages()
    _setup_privateuseone_for_python_backend(NAME, backend_module=_module())
    everything = _library("_", "")
    everything.fallback(_everything, "PrivateUse1")
    everything.fallback(fallthrough_kernel, "AutocastPrivateUse1")
    aten = _library("aten", "PrivateUse1")
    for name in _VIEWS:
        aten.impl(name, _same_memory(name))
    for name, kernel in _KERNELS.items():
        aten.impl(name, kernel)
    host = _library("aten", "CPU")
    host.impl("_pin_memory", lambda tensor, device=None: tensor.clone())
    host.impl("is_pinned", _not_pinned)
    collectives = _library("c10d", "PrivateUse1")
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("c10d::") and torch._C._dispatch_has_kernel_for_dispatch_key(name, "PrivateUse1"):
            collectives.impl(name[6:], _collective(name[6:]))
    dist.Backend.register_backend(BACKEND, _gloo, devices=[NAME])
    torch.autograd.set_multithreading_enabled(False)  # a thread of autograd's own sees the guard, which says 0
    _Mode().__enter__()


def _autoload():
    """What the entry point calls when torch is imported."""


def device_count():
    """As torch_musa has it beside torch.musa."""
    return COUNT


def current_device():
    """As torch_musa has it beside torch.musa."""
    return _state["current"]


if not hasattr(torch, NAME):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kernels that torch has of its own are overridden
        _setup()
