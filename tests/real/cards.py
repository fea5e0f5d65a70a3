"""The stand-in card of `card/`: how an environment gets it, and how two ranks train on it."""

import shutil
from pathlib import Path
from typing import NamedTuple

from mmengine_ranks import outcomes_of

BOTH = "cpu:gloo,gcu:eccl"
INDEX = """
import torch
from mmengine.structures import InstanceData
boxes = InstanceData(score=torch.arange(3.0, device="gcu"), names=["a", "b", "c"])
for index in ([True, False, True], [2, 0], [0.5]):
    try:
        chosen = boxes[torch.tensor(index, device="gcu")]
        print(chosen.score.tolist(), chosen.names)
    except AssertionError:
        print("refused")
"""
INDEXED = ["[0.0, 2.0] ['a', 'c']", "[2.0, 0.0] ['c', 'a']", "refused"]


class Trained(NamedTuple):
    """What a rank says at the end of a way to train that has worked; `weights` is a digest."""

    weights: str
    device: str
    backend: str
    device_ids: str


def lay_card(environment, kind):
    """Have `import torch` bring the stand-in card along, as a vendor's package does it."""
    for part in Path(__file__).with_name("card").iterdir():
        shutil.copytree(part, environment.site / part.name.replace("gcu", kind))
    points = environment.site / f"torch_{kind}-0.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().replace("gcu", kind))
    return environment


def train(environment, *ways, nodes=1, **more):
    """How two ranks of each node ended, {(way, rank): Trained or the error}, and all output."""
    ended = environment.ranks(2, "card_train.py", *ways, nodes=nodes, CUDA_VISIBLE_DEVICES="", **more)
    outcomes = outcomes_of(ended, Trained)
    assert sorted(outcomes) == sorted((way, rank) for way in ways for rank in range(2 * nodes)), ended
    return outcomes, ended.out


def weights_of(outcomes):
    """The weights with which the ranks ended."""
    return {trained.weights for trained in outcomes.values()}


def devices_of(outcomes):
    """The devices on which the ranks trained."""
    return {trained.device for trained in outcomes.values()}


def assert_trained_on_the_card(outcomes, *ways):
    """Both ranks end with the same weights, on a card of their own, and DDP was given its number."""
    for way in ways:
        first, second = outcomes[way, 0], outcomes[way, 1]
        assert first[1:] == ("gcu:0", BOTH, "[0]") and second[1:] == ("gcu:1", BOTH, "[1]"), outcomes
        assert first.weights == second.weights, outcomes
