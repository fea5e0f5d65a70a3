"""Say which device accelerate takes, and which kind of card torch knows."""

import torch
from accelerate import PartialState
from accelerate.state import _sitepatch_accelerator

state, card = PartialState(), _sitepatch_accelerator()
if card and state.device.type != card:
    raise SystemExit(f"torch knows the card {card}, and accelerate takes {state.device}")
print(f"accelerate takes {state.device}; torch {torch.__version__} knows {card or 'no card of a vendor'}")
