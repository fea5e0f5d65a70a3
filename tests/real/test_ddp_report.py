"""`sitepatch diagnose` on what two and four real ranks of MMEngine print, started by torchrun."""

import json
import sys
from pathlib import Path

import pytest
from conftest import COMMAND_ROOT, run
from diagnoses import diagnose, only_wrap
from wheels import slow

pytestmark = pytest.mark.real


def ranks(environment, count, way, *more):
    launch = [environment.python, "-m", "torch.distributed.run", f"--nproc_per_node={count}", "--standalone", *more]
    ended = run([*launch, Path(__file__).with_name("ddp_train.py"), "--group", way], cwd=environment.cwd)
    assert ended.code == 0, ended  # a way that fails is told, on a line of each rank
    return ended



@slow
@pytest.mark.parametrize("count", [2, 4])
def test_a_model_on_the_cpu_that_ddp_refuses(environment, count):
    assert environment.sitepatch("apply", "mmengine-ddp-debug").code == 0
    ended = ranks(environment, count, "direct")
    assert ended.out.count("failed direct ") == count, ended
    answer, code = diagnose(ended.out)
    assert (code, answer["runs"], answer["ok"]) == (1, 1, False)
    wrap = only_wrap(answer)
    (conclusion,) = wrap["conclusions"]
    assert (conclusion["code"], sorted(conclusion["ranks"])) == ("cpu-with-device-ids", list(range(count)))
    assert "sitepatch apply mmengine-ddp-device" in conclusion["hint"]
    for row in wrap["ranks"]:
        assert row["world_size"] == count
        assert (row["parameters"], row["buffers"], row["device_ids"]) == ({"cpu": 6}, {"cpu": 3}, [str(row["rank"])])
        assert (row["model"], row["wrapper"], row["site"]) == ("Toy", "MMDistributedDataParallel", "Runner.wrap_model")
        assert (row["get_device"], row["mmengine"]) == ("cpu", "0.10.7")
    assert len({row["host"] for row in wrap["ranks"]}) == 1 and wrap["ranks"][0]["host"]
    assert len({row["pid"] for row in wrap["ranks"]}) == len(wrap["ranks"])


@slow
def test_two_runs_in_one_log_and_the_newest_one_is_well(environment):
    assert environment.sitepatch("apply", "mmengine-ddp-debug").code == 0
    failed = ranks(environment, 2, "flexible")
    trained = ranks(environment, 4, "config-none")
    log = failed.out + trained.out

    answer, code = diagnose(log)
    assert (code, answer["runs"]) == (1, 2), answer
    assert [one["symptom"] for one in answer["findings"]] == ["ddp-refuses-device-ids"], "of the run before, whose error is in the log"
    wrap = only_wrap(answer)
    assert (answer["shown"][0]["run"], wrap["conclusions"]) == (2, [])
    assert [row["rank"] for row in wrap["ranks"]] == [0, 1, 2, 3]
    for row in wrap["ranks"]:
        assert (row["verdict"], row["device_ids"]) == ("ready", None)

    answer, code = diagnose(log, "--run", "1")
    assert code == 1
    wrap = only_wrap(answer)
    assert wrap["conclusions"][0]["code"] == "cpu-with-device-ids"
    assert {row["site"] for row in wrap["ranks"]} == {"DDPStrategy._wrap_model"}


@slow
def test_what_is_not_ddp(environment):
    assert environment.sitepatch("apply", "mmengine-ddp-debug").code == 0
    answer, code = diagnose(ranks(environment, 2, "fsdp").out)
    wrap = only_wrap(answer)
    conclusion = wrap["conclusions"][0]
    assert (conclusion["code"], conclusion["ranks"]) == ("other-wrapper", [0, 1]), answer
    assert len(wrap["ranks"]) == 2
    for rank, row in enumerate(wrap["ranks"]):
        assert (row["site"], row["wrapper"]) == ("FSDPStrategy._wrap_model", "MMFullyShardedDataParallel")
        assert row["device_ids"] == [str(rank)]
    assert (code, [one["symptom"] for one in answer["findings"]]) == (1, ["fsdp-without-accelerator"])


@slow
@pytest.mark.parametrize("way", ["alone", "flexible-alone"])
def test_one_rank_wraps_nothing(environment, way):
    assert environment.sitepatch("apply", "mmengine-ddp-debug").code == 0
    answer, code = diagnose(ranks(environment, 1, way).out)
    wrap = only_wrap(answer)
    assert (code, wrap["conclusions"], wrap["ranks"][0]["wrapper"]) == (0, [], "none"), answer


@slow
def test_two_ranks_that_wrap_nothing_train_apart(environment):
    assert environment.sitepatch("apply", "mmengine-ddp-debug").code == 0
    answer, code = diagnose(ranks(environment, 2, "alone").out)
    (conclusion,) = only_wrap(answer)["conclusions"]
    assert (code, conclusion["code"], conclusion["ranks"]) == (1, "not-distributed", [0, 1]), answer


@slow
def test_the_logs_that_torchrun_keeps_for_each_rank(environment, tmp_path):
    """`--redirects 3 --tee 3` writes every rank's streams to files of its own, and all of them with a prefix."""
    assert environment.sitepatch("apply", "mmengine-ddp-debug").code == 0
    ended = ranks(environment, 2, "config-none", "--log-dir", tmp_path / "logs", "--redirects=3", "--tee=3")
    assert "[default0]:sitepatch-ddp {" in ended.out
    (tmp_path / "logs" / "all.log").write_text(ended.out)
    diagnosed = run([sys.executable, "-m", "patcher", "diagnose", "--json", tmp_path / "logs"], cwd=COMMAND_ROOT)
    assert diagnosed.code == 0, diagnosed
    answer = json.loads(diagnosed.out)
    assert sum(log["reports"] for log in answer["logs"]) == 4
    assert answer["runs"] == 1
    assert [row["rank"] for row in only_wrap(answer)["ranks"]] == [0, 1], "the same report twice counts once"
