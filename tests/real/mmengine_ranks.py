"""Ranks of the real MMEngine that torchrun starts on the CPU: how each ended, and what mmengine-ddp-debug reports of it."""

import json
from typing import NamedTuple

from tests.patchsets.ddp import warnings

DEVICE, DEBUG = "mmengine-ddp-device", "mmengine-ddp-debug"
NO_CUDA = "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"
REFUSAL = (
    "ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
    "single-device/multiple-device GPU modules or CPU modules, but got device_ids [{rank}], output_device None, "
    "and module parameters {{device(type='cpu')}}."
)
PLACES = {
    "direct": "Runner.wrap_model",
    "config": "Runner.wrap_model (model_wrapper_cfg)",
    "flexible": "DDPStrategy._wrap_model",
}


class Trained(NamedTuple):
    """What a rank says at the end of a way to train that has worked; `weights` and `state` are digests, `random` is drawn last."""

    weights: str
    state: str
    random: str
    backend: str
    device_ids: str


def train(environment, number, *arguments):
    """Train in every way that is named, on the CPU also where there is a GPU: the outcomes, and all output."""
    ended = environment.ranks(number, "ddp_train.py", *arguments, CUDA_VISIBLE_DEVICES="")
    assert ended.code == 0, ended
    outcomes = outcomes_of(ended)
    ways = [each for each in arguments if not each.startswith("-")]
    assert sorted(outcomes) == sorted((way, rank) for way in ways for rank in range(number)), ended
    return outcomes, ended.out


def outcomes_of(ended, trained=Trained):
    """{(way, rank): a record of the type `trained`, or the error} of each rank; the last field of a record may have blanks."""
    outcomes = {}
    for line in ended.out.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("trained", "failed"):
            way, rank, report = rest.split(" ", 2)
            if word == "trained":
                report = trained(*report.split(" ", len(trained._fields) - 1))
            outcomes[way, int(rank)] = report
    return outcomes


def all_failed(outcomes):
    return all(isinstance(outcome, str) for outcome in outcomes.values())


def assert_trained_alike(outcomes):
    """Every rank ends with the weights of every other rank: they began with weights of their own, and had their own samples."""
    assert outcomes
    weights = {}
    for (way, _), outcome in outcomes.items():
        assert isinstance(outcome, Trained), outcomes
        assert outcome.backend == "gloo", "the backend is the one that the config names"
        assert outcome.device_ids == "None", way
        assert weights.setdefault(way, outcome.weights) == outcome.weights, (way, outcomes)


def reports_in(out):
    """{(site, rank): report} of every report that mmengine-ddp-debug wrote for programs."""
    reports = {}
    for line in out.splitlines():
        if line.startswith("sitepatch-ddp {"):
            report = json.loads(line.partition(" ")[2])
            if "event" not in report:  # an event is no report
                reports[report["site"], report["rank"]] = report
    return reports


def assert_reported(report, rank, out, failure):
    """A rank has reported a model on the CPU that DDP refuses, before the line that begins with `failure`."""
    assert (report["rank"], report["world_size"], report["env"]["LOCAL_RANK"]) == (rank, 2, str(rank))
    assert report["device_ids"] == [rank]
    assert (report["parameters"], report["buffers"]) == ({"cpu": 6}, {"cpu": 3})
    assert report["current"]["cuda"] is None
    assert warnings(report) == ["cpu-with-device-ids"]
    before_failure = out[: out.index("\n" + failure)]
    line = [line for line in before_failure.splitlines() if line.startswith(f"[rank {rank}] ")][-1]
    assert f": {report['site']}, MMDistributedDataParallel: parameters on {{'cpu': 6}}, before {{'cpu': 6}}, " in line
    assert "'hidden.weight'" in line and "'out.weight'" in line
    assert "out.bias" not in line, "only five are named"


def assert_passes_no_device_ids(reports, number):
    """Each of the ranks has reported each place, where DDP is given no device_ids and nothing is wrong."""
    assert sorted(reports) == sorted((place, rank) for place in PLACES.values() for rank in range(number))
    for report in reports.values():
        assert (report["device_ids"], warnings(report)) == (None, [])
