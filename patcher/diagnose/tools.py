"""The tool that shows the cards of a kind: what `{smi}` stands for in the advice of a symptom."""

from __future__ import annotations

from typing import Iterable

_TOOLS = {
    "cuda": "nvidia-smi",
    "npu": "npu-smi",
    "musa": "mthreads-gmi",
    "gcu": "efsmi",
    "xpu": "xpu-smi",
    "hpu": "hl-smi",
    "mlu": "cnmon",
    "rocm": "rocm-smi",
}
_COMMON = 4


def with_tools(advice: str, kinds: Iterable[str] = ()) -> str:
    """An advice with the tools of these kinds of cards, of common ones where none is known."""
    names = [_TOOLS[kind] for kind in kinds if kind in _TOOLS] or [*list(_TOOLS.values())[:_COMMON], "..."]
    return advice.replace("{smi}", ", ".join(names))
