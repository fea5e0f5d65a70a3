"""`sitepatch diagnose`: real errors are recognised, innocent logs are not blamed, and the command that is printed cures."""

import gzip
import io
import itertools
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from patcher.diagnosis import signs
from patcher.diagnosis.failures import (
    FailedRank,
    FailureReader,
    RankEnd,
    Traceback,
    with_tracebacks,
)
from patcher.diagnosis.files import log_files, read_log
from patcher.diagnosis.log import OWN_WORDS, LogReader
from patcher.errors import UsageError
from patcher.place import Place
from patcher.text import patterns
from patcher.text.listed import ranks
from patcher.text.patterns import wording
from patcher.verbs.cure import ABSENT, APPLICABLE, APPLIED, MISFIT
from patcher.verbs.log_findings import KnownSymptoms
from tests.command import DDP, Site, environ, sitepatch
from tests.diagnosis.logs import (
    FRAME,
    PACKED,
    PLAIN,
    REFUSED,
    Dribble,
    entry,
    findings_in,
    json_answer,
    log_of,
    of_docker,
    prefixed,
    raised,
    sections,
    summary,
)
from tests.display.catalog import entries
from tests.failures import before, fail_once

pytestmark = pytest.mark.once

DEVICE = "mmengine-ddp-device"


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """All symptoms, and an environment in which nothing is installed."""
    target = tmp_path_factory.mktemp("nothing")
    return KnownSymptoms(Place(target=str(target)))


UNKNOWN = """Traceback (most recent call last):
  File "/srv/job/train.py", line 31, in <module>
    main()
  File "/opt/venv/lib/python3.11/site-packages/shop/cart.py", line 7, in pay
    raise CartError("no such card: 7")
shop.cart.CartError: no such card: 7
"""


def test_an_unknown_error_is_named_and_is_no_success(tmp_path):
    (tmp_path / "log").write_text("epoch 1 done\n" + UNKNOWN)
    ended = sitepatch("diagnose", "log", cwd=tmp_path)
    assert ended.code == 1
    assert ended.out.split("\n")[0].split("  ") == ["not known", "log:7"]
    assert "shop.cart.CartError: no such card: 7\n" in ended.out and "/srv/job/train.py:31 in <module>\n" in ended.out
    assert "no known problem" not in ended.out


def test_a_log_without_an_error_is_a_success(tmp_path):
    (tmp_path / "log").write_text("epoch 1 done\n")
    ended = sitepatch("diagnose", "log", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "no known problem in 1 line of 1 log\n")


def test_an_unknown_error_is_named_once_with_its_ranks_also_beside_a_known_one(known, tmp_path):
    of_two_ranks = prefixed("[rank1]: ", UNKNOWN) + prefixed("[rank0]: ", UNKNOWN)
    refused = UNKNOWN.replace("CartError: no such card: 7", REFUSED.strip().partition(": ")[2])
    logs = [log_of(of_two_ranks, known.patterns, name="a"), log_of(refused, known.patterns, name="b")]
    outcome = known.outcome(logs)
    (error,) = outcome.errors.unexplained
    assert (error.text, error.ranks, error.log, error.line) == ("shop.cart.CartError: no such card: 7", (0, 1), "a", 6)
    assert [each.symptom.name for each in outcome.findings] == [PLAIN]


def symptoms(known, *texts):
    """The names of the symptoms found in some logs."""
    return [each.symptom.name for each in findings_in(known, *texts)]


def numbered(sections):
    """A case for each text of some files of logs, named after its heading."""
    return [pytest.param(heading, text, id=f"{at}-{heading}") for at, (heading, text) in enumerate(sections)]


def test_a_line_that_has_several_patterns_of_a_symptom_is_counted_once(known):
    full = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB\n"
    other = "RuntimeError: MUSA error: out of memory\n"
    for text, number in ((full, 1), (full * 2, 2), (full * 2 + other, 3), (other + full, 2)):
        (finding,) = (each for each in findings_in(known, text) if each.symptom.name == "out-of-device-memory")
        assert finding.lines.number == number, text
    (finding,) = findings_in(known, full, full)
    assert finding.lines.number == 2


# what is recognised ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("heading", "text"), numbered(sections("errors", "cuda", "reported", "edits", "hand-edits", "found")))
def test_a_real_error_is_recognised(known, heading, text):
    assert sorted(symptoms(known, text)) == sorted(heading.split())


def test_there_are_enough_logs_of_both_kinds_and_every_symptom_has_one(known):
    new = ("issues-developed", "issues-fourth", "issues-held-out-fourth")
    errors = sections("errors", "cuda", "reported", "edits", "hand-edits", "found", "issues", *new)
    assert len(sections("errors")) >= 25
    assert len(sections("innocent")) >= 25
    shown = {heading.partition(": ")[0] for heading, _ in sections("sources")}
    for heading, _ in errors:
        shown.update(heading.split())
    rest = {symptom.name for symptom, _ in known.symptoms} - shown
    assert rest == {"driver-too-old", "cuda-selected-beside-another-accelerator"}, "symptoms without a text"


@pytest.mark.parametrize(("heading", "text"), numbered(sections("sources")))
def test_an_error_that_cannot_be_raised_here_is_recognised_by_the_wording_of_its_source(known, heading, text):
    assert symptoms(known, text) == [heading.partition(": ")[0]]


def test_every_wording_in_a_patchset_has_a_log(known):
    seen = set()
    for _, text in sections("errors", "cuda", "reported", "issues", "issues-developed", "issues-fourth", "sources", "edits", "hand-edits", "found"):
        seen.update(each.key for each in log_of(text, known.patterns).sightings)
    for symptom, patchset in known.symptoms:
        if patchset:
            assert [pattern for pattern in symptom.signs.patterns if pattern not in seen] == []


@pytest.mark.parametrize(("heading", "text"), sections("innocent"))
def test_an_innocent_log_is_not_blamed(known, heading, text):
    assert symptoms(known, text) == []


def test_an_ordinary_line_of_training_matches_nothing(known):
    """Each match costs as much as reading thousands of lines, and a log has millions of them."""
    text = dict(sections("innocent"))["training"]
    assert "mmengine" in text and log_of(text, known.patterns).sightings == ()


@pytest.mark.parametrize("noise", [bytes(range(256)) * 99, b"\0" * 9999, b"\x1b[2J\x1b]0;title\x07\r\n" * 9, b"", b"{\"log\": \"Conn"])
def test_input_that_is_no_log_has_no_findings(known, noise):
    assert symptoms(known, noise) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda line: "[rank0]: " + line,
        lambda line: line.replace("\n", "\r\n"),
        lambda line: "12%|##   |\r" + line.rstrip(),
        lambda line: line.replace("ValueError", "\x1b[1;35mValueError\x1b[0m").replace("device_ids and", "\x1b[35mdevice_ids\x1b[0m and"),
        lambda line: line.replace("device_ids and", "\x1b[38:5:1mdevice_ids\x1b[?25h\x1b(B\x1b[m and"),
        lambda line: json.dumps({"log": line, "stream": "stderr"}) + "\n",
        lambda line: "x" * 5000 + " " + line,
        lambda line: gzip.compress(line.encode()),
    ],
    ids=["rank", "crlf", "progress bar", "colours", "tput", "docker", "in a long line", "gzip"],
)
def test_an_error_is_recognised_whatever_is_around_it(known, change):
    assert symptoms(known, change(REFUSED)) == [PLAIN]


@pytest.mark.parametrize("size", [1, 50, 4096])
def test_pieces_of_any_size_give_the_same_findings(known, size):
    refused = "".join(f"\x1b[31m[rank{rank}]:\x1b[0m {REFUSED}" for rank in range(3))
    text = "x\n" * 9 + refused + "RuntimeError: Address already in use"
    log = read_log("0.log", Dribble(text.encode(), size), known.patterns)
    assert log == read_log("0.log", io.BytesIO(text.encode()), known.patterns)
    assert {(each.line, each.number, each.ranks) for each in log.sightings} == {(10, 3, (0, 1, 2)), (13, 1, ())}
    assert log.lines == 13


# The next tests count work, since seconds depend on the machine; no public function tells of it.
@pytest.mark.parametrize("noise", ["KeyError: 'LOCAL_RANK'", "RuntimeError: The server socket has failed to ", REFUSED[12:90]])
def test_the_work_grows_with_the_log_and_not_with_its_square(known, monkeypatch, noise):
    """An endless line with a mark everywhere: the number of bytes that are searched in all is bounded."""
    sizes, expressions = [], patterns._expressions

    class Recorder:
        def __init__(self, expression):
            self.expression = expression

        def search(self, text, begin=0, stop=sys.maxsize):
            match = self.expression.search(text, begin, stop)
            end = match.end() if match else min(len(text), stop)
            sizes.append(end - begin)
            return match

    monkeypatch.setattr(patterns, "_expressions", lambda pattern: map(Recorder, expressions(pattern)))  # see above

    def searched(size):
        sizes.clear()
        read_log("log", io.BytesIO(noise.encode() * (size // len(noise))), known.patterns)
        return sum(sizes)

    assert 0 < searched(2 << 20) < 2.5 * searched(1 << 20)


SHAPES = {
    "training": "2026/01/05 10:02:11 - mmengine - INFO - Epoch(train)  [1][{n}/125]  lr: 1.0000e-01  loss: 2.3071\n",
    "the word error": "2026/01/05 10:02:11 - job - INFO - step {n}: error 0.5, error rate 0.25\n",
    "a logger's errors": "2026-11-22 10:00:00,123 ERROR worker: request {n} could not be served\n",
    "exceptions": "[rank{rank}]: ShopError: no such card: {n}\n",
    "a known error": "[rank{rank}]: RuntimeError: CUDA error: out of memory at step {n}\n",
}  # fmt: skip


@pytest.mark.parametrize("line", SHAPES.values(), ids=SHAPES)
def test_lines_that_differ_in_numbers_alone_are_looked_at_once(known, monkeypatch, line):
    """The expensive part is done once per shape, however many lines have it; the sightings are counted all the same."""
    lines_read = []
    before(monkeypatch, signs.SignReader, "read", lambda reader, *line: lines_read.append(line))  # see above
    text = "".join(line.format(n=n, rank=n % 8) for n in range(1000, 9000))
    log = log_of(text, known.patterns)
    assert len(lines_read) <= 2 and log.lines == 8000
    assert {each.number for each in log.sightings} <= {8000} and len(log.errors) <= 1
    if "rank" in line:
        assert sorted(log.errors[0].ranks) == list(range(8)) and {len(each.ranks) for each in log.sightings} <= {8}


SIGNS = (  # a line for each sign by which an unknown error is recognised
    "ShopMismatch: 7 and 8", "terminate called after throwing", "segfault at 0", "double free or corruption", "Killed",
    "CRITICAL the loader gave up", "[E] it gave up", "E1206 18:44:00.000000 7 a.cpp:9] it gave up", "[rank0]:[E1206 18:44:00.0 a.cpp:9] it gave up",
    "exited with code 3", "returned non-zero exit status 3", "exit status: 3", "运行报错，求助", "跑到一半出错了",
    "[rank1]: AssertionError", "returning ZE_RESULT_ERROR_INVALID_ARGUMENT", "CUBLAS_STATUS_NOT_SUPPORTED", "cudaErrorUnknown", "SIGBUS in rank 3",
    "[Error]:[create] it gave up", "open_card(3, NULL) failed with 20", "I always got this strange error", "there is an error called so",
    "an error is reported", 'an error "no card"', "frame #3: c10::Card::open() + 0x3", "it crashed with 7", "the call fails with 802",
)  # fmt: skip


@pytest.mark.parametrize("sign", SIGNS)
def test_an_error_is_recognised_by_each_sign_alone_after_a_long_log(known, sign):
    text = "".join(f"step {step} of 9000, loss 0.25\n" for step in range(9000)) + f"{sign}\n"
    assert [each.line for each in log_of(text, known.patterns).errors] == [9001]


@pytest.mark.parametrize("text", ["GET /health HTTP/1.1, status: 200", "the job ended, exit code 0", "status=200 in 3 ms"])
def test_a_status_that_is_no_exit_code_is_no_error(known, text):
    assert read_text(known, f"{text}\n").ok


def test_a_line_whose_other_digits_make_another_error_is_looked_at_again(known):
    text = "".join(f"2026-11-22 10:00 the job ended, exit code {code}\n" for code in (0, 0, 3))
    assert [each.line for each in log_of(text, known.patterns).errors] == [3]
    pair = "[x] stream on device -7\n" * 9 + "[x] stream on device -1\n"
    assert [(each.line, each.number) for each in log_of(pair, known.patterns).sightings] == [(10, 1)]


def test_each_line_that_has_a_form_has_one_of_its_words(known):
    lines = []
    for _, text in sections("errors", "cuda", "reported", "issues", "issues-innocent", "innocent"):
        lines += [line.encode() for line in text.splitlines()]
    assert len(signs.FORMS) >= 4
    assert len(lines) > 500
    for _, expression in signs.FORMS:
        of_this_form = [line for line in lines if expression.search(line)]
        assert of_this_form
        for line in of_this_form:
            assert any(word in wording(line) for word in signs.ERROR_WORDS), line


@pytest.mark.parametrize("width", [40, 80])
def test_a_wrapped_error_is_recognised_line_by_line(known, width):
    reader = LogReader("log", known.patterns)
    for at in range(0, len(REFUSED), width):
        reader.feed(REFUSED[at : at + width].strip().encode() + b"\n")
    log = reader.log()
    assert [each.symptom.name for each in known.outcome([log]).findings] == [PLAIN]
    assert {each.number for each in log.sightings} == {1}


@pytest.mark.parametrize(
    ("prefix", "rank"),
    [("[rank3]: ", 3), ("[rank1]:[E1206 18:44 c10d] [Rank 3] ", 3), ("[default3]:", 3), ("[1,3]<stderr>:", 3), ("[prterun-node-1-22@1,3]<stderr>: ", 3), (" 3: ", 3), ("", None),
     ("2026-11-22T10:00:00.123456789Z [default3]: ", 3), ('{"log":"[default3]:', 3), ("[pod/train-0/main] 2026-11-22T10:00:00+08:00 3: ", 3),
     ("2026-11-22T10:00:00.1Z stderr F [1,3]<stderr>:", 3), ("[2026]: ", None), ("train.py:3: ", None), ("[rank12345678]: ", None)],
)  # fmt: skip
def test_the_rank_is_known_by_the_line(known, prefix, rank):
    (one,) = findings_in(known, prefix + REFUSED)
    assert one.lines.ranks == ((rank,) if rank is not None else ())


@pytest.mark.parametrize(("name", "rank"), [("/r/none_x/attempt_0/3/stderr.log", 3), ("logs/rank_3.log", 3), ("rank3.log.gz", 3), ("rank_3_of_8.log", 3), ("frank3.log", None), ("log", None)])
def test_the_rank_is_known_by_the_file(known, name, rank):
    log = read_log(name, io.BytesIO(REFUSED.encode()), known.patterns)
    assert log.sightings[0].ranks == ((rank,) if rank is not None else ())


def test_the_error_is_shown_wherever_it_is_in_a_long_line(known):
    (one,) = findings_in(known, "训练" * 900 + REFUSED.rstrip() + "x" * 5000)
    assert "ValueError: DistributedDataParallel device_ids" in one.lines.text and len(one.lines.text) < 300


@pytest.mark.parametrize("how", PACKED)
def test_a_log_that_cannot_be_read_is_not_reported_as_fine(tmp_path, how):
    (tmp_path / "log").write_bytes(PACKED[how](REFUSED.encode()))
    answer = json.loads(sitepatch("diagnose", "log", "--json", cwd=tmp_path).out)
    assert not answer["ok"] and f"its format is {how}, which is not read: unpack it into a pipe" in answer["logs"][0]["problem"]


def test_findings_are_in_order_and_consequences_come_last(known):
    gone = "[rank1]: RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:17426\n"
    port = "RuntimeError: Address already in use\n"
    assert symptoms(known, gone + port + REFUSED) == ["port-in-use", PLAIN, "peer-gone"]
    assert symptoms(known, gone) == ["peer-gone"], "alone it is told all the same"


def test_a_line_that_merely_mentions_something_can_be_what_a_symptom_needs(known):
    warned = "/site-packages/mmengine/utils/dl_utils/setup_env.py:56: UserWarning: for each process, to avoid an overloaded system.\n"
    text = f"{warned}AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'\n"
    assert symptoms(known, text) == ["cuda-selected-without-cuda"]


def test_a_line_of_another_log_can_be_what_a_symptom_needs(known):
    source, error = "    torch.cuda.set_device(rank % num_gpus)\n", "ZeroDivisionError: integer modulo by zero\n"
    assert symptoms(known, error) == []
    assert symptoms(known, source, error) == ["rank-divided-by-no-gpus"]


# which rank failed first ----------------------------------------------------------------------------------------------
def failures(known, *texts):
    """The first failure in each launcher's summary, in the form of the headings of torchrun.log."""
    names = ["log"] if len(texts) == 1 else [f"rank{at}.log" for at in range(len(texts))]
    logs = [log_of(text, known.patterns, name=name) for name, text in zip(names, texts)]
    sentences = []
    for each in known.outcome(logs).errors.failures:
        ending = each.ending.signal or f"exit code {each.ending.exitcode}"
        error = f": {each.traceback.error} at {each.traceback.at}" if each.traceback.error else ""
        sentences.append(f"rank {each.rank}, {ending}{error}")
    return sentences


TORCHRUN = sections("torchrun")
AROUND = {
    "as it is": lambda text: text,
    "docker": of_docker,
    "kubectl": lambda text: prefixed("[pod/train-0/main] 2026-11-22T10:00:00+08:00 ", text),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "colours": lambda text: re.sub(r"(\w+Error)", "\x1b[1;35m\\1\x1b[0m", text),
    "progress bar": lambda text: prefixed("12%|##   |\r", text),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize(("heading", "text"), [pytest.param(*each, id=f"{at}") for at, each in enumerate(TORCHRUN)])
def test_the_rank_that_failed_first_is_named_with_its_exception(known, heading, text, around):
    assert failures(known, around(text)) == [heading]


@pytest.mark.parametrize("size", [1, 50, 4096])
def test_a_failure_is_read_from_pieces_of_any_size(known, size):
    text = ("x" * 5000 + "\n" * 9 + "".join(text for _, text in TORCHRUN)).encode()
    summaries = read_log("log", Dribble(text, size)).summaries
    assert summaries == log_of(text).summaries
    assert len(summaries) == len(TORCHRUN)
    last = summaries[0][-1].traceback
    assert text.splitlines()[last.line - 1].endswith(last.error.encode())


def test_a_later_run_in_a_log_has_its_own_failure(known):
    (first, run), (_, other) = TORCHRUN[0], TORCHRUN[2]
    nothing = re.sub(r"^\[rank1\].*\n", "", run, flags=re.MULTILINE).replace("2026-11-23_01:46:45", "2026-11-23_09:00:00")
    assert failures(known, run + nothing) == [first, "rank 1, exit code 1"]
    assert failures(known, nothing + run) == [first, "rank 1, exit code 1"], "in the order of time"
    assert failures(known, run + other) == [first, TORCHRUN[2][0]]
    silent = other[other.index("W1123") :].replace("_01:50:11", "_09:00:00")
    assert failures(known, other + silent) == [TORCHRUN[2][0], "rank 1, exit code 1"]


def test_the_traceback_may_be_in_the_log_of_the_rank(known):
    first, text = TORCHRUN[0]
    at = text.index("W1123")
    own = re.findall(r"^(?:\[rank1\]: )(.*\n)", text, flags=re.MULTILINE)
    assert failures(known, text[at:], "".join(own)) == [first]
    assert failures(known, text[at:], "".join(own), "".join(own).replace("KeyError", "OSError")) == [first], "the file says of which rank"
    assert failures(known, text[at:], text[at:]) == ["rank 1, exit code 1"], "the same summary in two logs"


def test_logs_that_contradict_each_other_about_a_rank_say_nothing_of_it():
    failure = FailedRank(1, RankEnd(exitcode=1), Traceback("log", 9))
    one, other = Traceback("log", 1, "KeyError", "a.py:1"), Traceback("log", 1, "OSError", "a.py:1")
    assert with_tracebacks([failure], [{1: one}, {1: other}, {None: one}]) == [failure]
    assert with_tracebacks([failure], [{1: one}, {1: one}, {None: other}]) == [failure._replace(traceback=one)]


def test_a_traceback_of_an_unnamed_rank_is_taken_where_there_is_no_other(known):
    first, text = TORCHRUN[2]
    other = text[: text.index("W1123")].replace("no_such_package", "another")
    assert failures(known, text) == [first]
    assert failures(known, other + text) == ["rank 1, exit code 1"]
    chained = other + "\nDuring handling of the above exception, another exception occurred:\n\n" + text
    assert failures(known, chained) == [first.replace("no_such_package", "another")], "a chain is about its first exception"


def test_the_other_failures_of_torch_1_9_are_below_the_first_one(known):
    """The first one only waited: what it waited for is named, with what its own entry recorded."""
    heading, text = next((heading, text) for heading, text in TORCHRUN if "'extraInfo'" in text and "NO_OTHER" in text)
    entry = text[text.index("  time:") : text.index("====", text.index("  time:"))]

    def changed(rank, code, message):
        other = re.sub(r"msg: .*", f"msg: {message}", entry)
        return other.replace("rank: 1", f"rank: {rank}").replace("exitcode: 1", f"exitcode: {code}")

    error = "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer"
    waited = changed(0, 1, f"\"{{'message': '{error}', 'extraInfo': {{}}}}\"")
    killed = changed(2, -15, '"Signal 15 (SIGTERM) received by PID 4712"')
    alone = text.replace(entry, waited)
    assert failures(known, alone) == [f"rank 0, exit code 1: {error} at "]
    several = alone.replace("  <NO_OTHER_FAILURES>\n", f"[1]:\n{killed}[2]:\n{entry}")
    assert failures(known, several) == [heading]
    (summary,) = log_of(several).summaries
    assert [(each.rank, each.ending.exitcode) for each in summary] == [(2, -15), (1, 1), (0, 1)], "the first one is the last"
    assert failures(known, several + text.replace("rank: 1", "rank: 7")) == [heading, heading.replace("rank 1", "rank 7")]


def test_a_traceback_that_is_only_in_the_summary_is_read(known):
    heading, text = TORCHRUN[1]
    assert failures(known, re.sub(r"^\[rank1\].*\n", "", text, flags=re.MULTILINE)) == [heading]


def test_a_rank_killed_by_a_signal_did_not_end_by_its_last_traceback(known):
    heading, text = next(each for each in TORCHRUN if each[0].endswith("SIGKILL"))
    assert failures(known, text.replace("[rank0]", "[rank1]")) == [heading]


@pytest.mark.parametrize("wrong", [("rank      : 1", "rank      : 12345678"), ("rank      : 1", "rank      : one"), ("  rank ", "  rang ")])
def test_a_summary_without_a_rank_is_none(known, wrong):
    assert failures(known, TORCHRUN[0][1].replace(*wrong)) == []
    assert failures(known, TORCHRUN[0][1].replace("exitcode  : 1 ", "exitcode  : many "))[0].startswith("rank 1, exit code None: KeyError")


def test_only_a_bounded_number_of_lines_of_a_traceback_is_read(known, monkeypatch):
    sizes = []
    before(monkeypatch, FailureReader, "_read", lambda reader, line, mark: sizes.append(len(line)))  # work is counted, as above
    header = "Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\n"
    log_of(b"x\n" * 9999 + header.encode() + b"KeyError: 1\n" + b"x\n" * 9999)
    assert len(sizes) == 3
    sizes.clear()
    log_of(header.encode() + b"  x\n" * 19999)
    assert 5000 <= len(sizes) < 5010, "one that does not end"
    sizes.clear()
    log_of(header.encode() + b" " * (5 << 20))
    assert max(sizes) < 3 << 20, "a line that does not end is read in parts"


def test_interleaved_tracebacks_of_ranks_are_told_apart(known):
    first, text = TORCHRUN[0]
    at = text.index("W1123")
    of_first = re.findall(r"^\[rank0\]: .*\n", text[:at], flags=re.MULTILINE)
    of_second = re.findall(r"^\[rank1\]: .*\n", text[:at], flags=re.MULTILINE)
    mixed = "".join(one + other for one, other in itertools.zip_longest(of_first, of_second, fillvalue=""))
    assert failures(known, mixed + text[at:]) == [first]


def diagnosed(folder, text):
    """What `diagnose` prints for a log with this text, in which something is wrong."""
    (folder / "log").write_text(text, encoding="utf-8")
    ended = sitepatch("diagnose", "log", "--target", folder, cwd=folder)
    assert ended.code == 1, ended
    return ended.out


def test_the_failure_is_reported_first_and_ends_with_1(tmp_path):
    out = diagnosed(tmp_path, TORCHRUN[0][1])
    assert out.splitlines()[:4] == [
        "failed   rank 1     log:16",
        "         KeyError: 'loss_weight'",
        "         /home/me/base.py:17 in forward",
        "         torchrun saw it fail first: exit code 1, on localhost, 2026-11-23_01:46:45",
    ]
    assert "a-rank-failed" not in out and "its error file" not in out


def test_a_failure_whose_traceback_is_cut_unnamed_or_missing_is_reported_with_what_is_known(tmp_path):
    unclear = "the logs do not say which rank has written"
    assert unclear in diagnosed(tmp_path, TORCHRUN[2][1])
    without_beginning = diagnosed(tmp_path, TORCHRUN[0][1].replace("Traceback (most recent call last):", ""))
    assert unclear not in without_beginning
    assert "/home/me/base.py:17 in forward" in without_beginning
    without_traceback = re.sub(r"^\[rank\d\]: .*\n", "", TORCHRUN[0][1], flags=re.MULTILINE)
    assert "these logs have no traceback of it" in diagnosed(tmp_path, without_traceback)
    assert "its error file: /tmp/torchelastic_" in diagnosed(tmp_path, TORCHRUN[1][1])


# which rank was waited for -------------------------------------------------------------------------------------------
WAITED = sections("waited")


def causes(known, *texts, names=()):
    """The ranks that failed first, in the form of the headings of waited.log."""
    logs = [log_of(text, known.patterns, name=name) for name, text in itertools.zip_longest(names, texts, fillvalue="log")]
    sentences = []
    for each in known.outcome(logs).errors.failures:
        late = f"late {ranks(each.late)}: " if each.late else ""
        victim = "" if each.victim is None else f", rank {each.victim} waited"
        error = each.traceback.error or each.ending.signal or each.ending.exitcode
        sentences.append(f"{late}rank {each.rank} waited" if each.waited else f"rank {each.rank}: {error}{victim}")
    return "; ".join(sentences)


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize(("heading", "text"), [pytest.param(*each, id=f"{at}") for at, each in enumerate(WAITED)])
def test_a_rank_that_waited_is_not_the_one_that_failed(known, heading, text, around):
    assert causes(known, around(text)) == heading


def test_the_rank_that_was_waited_for_is_reported_first(tmp_path):
    def lines(heading):
        return [" ".join(line.split()) for line in diagnosed(tmp_path, dict(WAITED)[heading]).splitlines()]

    late = lines("late rank 2: rank 3 waited")
    assert late[:2] == ["late rank 2 log:24", "torchrun saw rank 3 fail first, on localhost, 2026-11-23_07:56:54: it waited in vain"]
    assert late[2].startswith("RuntimeError: [")
    assert late[3].startswith("raised in ")
    assert late[5].startswith("hint: it still ran when torchrun ended it")
    cause = lines("rank 1: KeyError: 'loss_weight', rank 0 waited")
    assert cause[:2] == ["failed rank 1 log:6", "KeyError: 'loss_weight'"]
    assert cause[3] == "torchrun saw rank 0 fail first, which waited for this one"
    victim = lines("rank 0 waited")
    assert victim[0] == "waited rank 0 log:10"
    assert victim[5].startswith("hint: it waited for another rank, and is a victim")


GONE = "RuntimeError: [x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:16064."
RECORDED = "Traceback (most recent call last):\n" + '    File "train.py", line 7, in main\n      main()\n' * 20 + "  KeyError: 1"
TIMED_OUT = "RuntimeError: [x/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 4000ms for recv operation to complete"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (raised(0, GONE) + summary(entry(0, 1), entry(1, "SIGSEGV"), entry(2, "SIGTERM")), "rank 1: SIGSEGV, rank 0 waited"),
        (raised(0, GONE) + summary(entry(0, 1), entry(1, "SIGKILL")), "rank 1: SIGKILL, rank 0 waited"),
        (raised(0, GONE) + summary(entry(0, 1), entry(1, "SIGKILL", "2026-11-23_07:51:55")), "rank 1: SIGKILL, rank 0 waited"),
        (raised(0, GONE) + summary(entry(0, 1, "soon"), entry(1, "SIGKILL", "later")), "rank 1: SIGKILL, rank 0 waited"),
        (raised(0, GONE) + summary(entry(0, 1), entry(1, 3)), "rank 1: 3, rank 0 waited"),
        (raised(0, GONE) + summary(entry(0, 1), entry(1, 1)), "rank 0 waited"),  # it may have waited as well
        (raised(0, GONE) + summary(entry(0, 1), entry(1, "SIGTERM")), "rank 0 waited"),  # it may still have waited
        (raised(0, GONE) + raised(2, TIMED_OUT) + summary(entry(0, 1), entry(1, "SIGTERM"), entry(2, "SIGTERM")), "late rank 1: rank 0 waited"),
        (raised(0, TIMED_OUT) + summary(entry(0, 1), entry(1, "SIGKILL", "2026-11-23_07:52:24")), "late rank 1: rank 0 waited"),
        (raised(0, TIMED_OUT) + raised(1, "KeyboardInterrupt") + summary(entry(0, 1), entry(1, "SIGTERM")), "rank 0 waited"),
        (raised(0, TIMED_OUT) + raised(1, "RuntimeError: NCCL error in: x.cpp:9, unhandled system error") + summary(entry(0, 1), entry(1, "SIGTERM")), "rank 0 waited"),
        (raised(0, "KeyError: 1") + raised(1, "KeyError: 2") + summary(entry(0, 1), entry(1, "SIGTERM")), "rank 0: KeyError: 1"),
        (raised(0, TIMED_OUT) + raised(1, "KeyError: 1") + raised(2, "KeyError: 1") + summary(entry(0, 1), entry(1, "SIGTERM"), entry(2, 1)), "rank 1: KeyError: 1, rank 0 waited"),
        (raised(2, "KeyError: 1") + summary(entry(2, 1), entry(0, "SIGTERM")) + raised(0, TIMED_OUT) + summary(entry(0, 1), entry(2, "SIGTERM")), "rank 2: KeyError: 1; late rank 2: rank 0 waited"),
        (raised(1, "OSError") + raised(2, "KeyError: 1") + summary(entry(2, 1), entry(1, "SIGTERM")) + raised(0, TIMED_OUT) + summary(entry(0, 1), entry(1, "SIGTERM")), "rank 2: KeyError: 1; late rank 1: rank 0 waited"),
        (raised(0, TIMED_OUT) + summary(entry(0, 1), entry(1, "SIGTERM").replace("To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html", RECORDED)), "rank 1: KeyError: 1, rank 0 waited"),
    ],
)  # fmt: skip
def test_this_rank_failed_first(known, text, expected):
    assert causes(known, text) == expected


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-11-23_07:51:54", "rank 1: SIGKILL, rank 0 waited"),
        ("2026-11-23_07:52:09", "rank 1: SIGKILL, rank 0 waited"),
        ("2026-11-23_07:52:10", "late rank 1: rank 0 waited"),
        ("2026-11-23_07:52:24", "late rank 1: rank 0 waited"),
        ("soon", "rank 1: SIGKILL, rank 0 waited"),
    ],
)
def test_a_rank_killed_more_than_15_seconds_after_the_first_failure_was_stuck(known, time, expected):
    """torchrun kills what it has told to end half a minute before."""
    first = entry(0, 1, "2026-11-23_07:51:54")
    assert causes(known, raised(0, TIMED_OUT) + summary(first, entry(1, "SIGKILL", time))) == expected


def test_a_rank_ended_by_the_watchdog_of_nccl_was_waiting(known):
    watchdog = next(text for _, text in sections("reported") if "Watchdog caught" in text)
    table = summary(entry(0, "SIGABRT"), entry(4, "SIGABRT"), entry(5, "SIGTERM"))
    assert causes(known, watchdog + table) == "late rank 5: rank 0 waited"
    assert causes(known, watchdog.replace("Watchdog", "Somebody") + table) == "rank 0: SIGABRT"


def test_the_last_attempt_of_a_restarted_rank_counts(known):
    own = [f'Traceback (most recent call last):\n  File "train.py", line 7, in main\nKeyError: {attempt}\n' for attempt in range(11)]
    logs = [f"logs/x/attempt_{attempt}/1/stderr.log" for attempt in range(11)]
    assert causes(known, summary(entry(1, 1)), *own, names=["log", *logs]) == "rank 1: KeyError: 10"
    assert causes(known, summary(entry(1, 1)), own[0], "KeyError\n", names=["log", logs[0], logs[2]]) == "rank 1: 1", "the last one has none"


def test_a_rank_of_another_machine_is_found_by_its_own_log(known):
    first = raised(0, TIMED_OUT) + summary(entry(0, 1))
    own = 'Traceback (most recent call last):\n  File "train.py", line 7, in main\nKeyError: 8\n'
    assert causes(known, first, own, names=["log", "attempt_0/8/stderr.log"]) == "rank 8: KeyError: 8, rank 0 waited"
    other = raised(8, "KeyError: 8") + summary(entry(8, 1, "2026-11-23_07:59:59"))
    assert causes(known, first, other) == "rank 8: KeyError: 8; rank 0 waited", "whatever the clocks say"
    late = raised(8, TIMED_OUT) + summary(entry(8, 1), entry(9, "SIGTERM"))
    assert causes(known, first, late) == causes(known, late, first) == "late rank 9: rank 8 waited; rank 0 waited"
    apart = summary(entry(8, 1, "2026-11-23_07:59:59"))
    assert causes(known, first, apart, own, names=["log", "log2", "attempt_0/8/stderr.log"]) == "rank 8: KeyError: 8; rank 0 waited", "told once"


# what cures -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [DEVICE, DDP, "torch-musa-guard", "torch-dynamo-suppress", "triton-libcuda-path"])
def test_the_command_that_is_printed_applies_the_cure(tmp_path, known, name):
    fixture = {"m": "mmengine-0.10.7", "to": "torch-2.7.1-musa", "tr": "triton-3.5.1"}
    (standin,) = (folder for start, folder in fixture.items() if name.startswith(start))
    site = Site(tmp_path, standin)
    cured = {symptom.name for symptom, patchset in known.symptoms if patchset and patchset.name == name}
    errors = sections("errors", "cuda", "reported")
    text = next(text for heading, text in errors if not cured.isdisjoint(heading.split()))
    answer = json_answer(site, text)
    (one,) = answer["findings"]
    assert (one["patchset"], one["fit"]) == (name, "applicable"), one
    assert answer["cure"] == f"sitepatch apply {name} --target {site.path}"
    assert sitepatch(*shlex.split(answer["cure"])[1:], cwd=tmp_path).code == 0
    answer = json_answer(site, text)
    assert [each["fit"] for each in answer["findings"]] == ["applied"] and answer["cure"] == ""
    assert "the cause is another one" in site("diagnose", "job.log").out


def test_a_patchset_that_does_not_help_here_is_not_recommended(tmp_path):
    site = Site(tmp_path, "torch-2.9.0")
    (one,) = json_answer(site, FRAME + REFUSED)["findings"]
    assert (one["fit"], one["fit_text"]) == ("absent", f"mmengine is not installed in {site.path}")
    musa = "AttributeError: 'UntypedStorage' object has no attribute 'is_musa'\n"
    answer = json_answer(site, musa)
    assert (answer["findings"][0]["fit"], answer["cure"]) == ("not needed", "")


def test_a_job_without_mmengine_is_not_advised_to_patch_it_though_it_is_installed(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    answer = json_answer(site, TORCHRUN[0][1] + REFUSED)
    assert [(each["symptom"], each["patchset"]) for each in answer["findings"]][:1] == [(PLAIN, "")] and answer["cure"] == ""


def test_where_the_code_differs_explain_is_named(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    file = site.file("mmengine/dist/utils.py")
    file.write_text(file.read_text().replace("torch.cuda.set_device(", "torch.gpu.choose("))
    (one,) = json_answer(site, FRAME + REFUSED)["findings"]
    assert one["fit"] == "does not fit" and one["fit_text"].endswith(f"see sitepatch check {DEVICE} --explain --target {site.path}")


def test_an_environment_is_examined_only_where_there_is_something_to_cure(tmp_path):
    (tmp_path / "log").write_text("RuntimeError: Address already in use\n")
    assert sitepatch("diagnose", "log", "--python", "nowhere", cwd=tmp_path).code == 1
    (tmp_path / "log").write_text(FRAME + REFUSED)
    assert "nowhere" in sitepatch("diagnose", "log", "--python", "nowhere", cwd=tmp_path).err


def test_where_an_accelerator_is_installed_its_own_patchset_is_reported(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    (site.path / "torch_gcu").mkdir()
    answer = json_answer(site, FRAME + REFUSED)
    assert [each["symptom"] for each in answer["findings"]] == ["moved-back-to-the-cpu"]
    assert answer["findings"][0]["patchset"] == "mmengine-device"


@pytest.mark.parametrize(
    ("mention", "kind"),
    [
        ("device=gcu:3", "gcu"), ("tensor([1.], device='xyz:0')", "xyz"),
        ("{device(type='gcu', index=0)}", "gcu"), ("the model is on xla:1", "xla"), ("{device(type='xla', index=0)}", "xla"),
    ],
)  # fmt: skip
def test_a_card_that_the_text_mentions_is_the_device_in_the_command(known, mention, kind):
    (finding,) = findings_in(known, f"{mention}\n{FRAME}{REFUSED}")
    assert (finding.symptom.name, finding.symptom.options) == ("moved-back-to-the-cpu", {"device": kind})
    assert "sitepatch apply mmengine-ddp-device" in finding.symptom.advice, "how to train on the CPU on purpose"
    assert symptoms(known, FRAME + REFUSED) == ["ddp-refuses-device-ids"], "a text without a card"


def test_a_handwritten_report_that_the_model_is_on_the_card_names_that_card(known):
    (finding,) = findings_in(known, f"{FRAME}>>> 参数设备分布: {{'gcu:0'}}\n")
    assert (finding.symptom.name, finding.patchset.name, finding.symptom.options) == ("reported-on-a-card-before-ddp", "mmengine-device", {"device": "gcu"})
    assert symptoms(known, f">>> 参数设备分布: {{'gcu:0'}}\n{FRAME}{REFUSED}")[0] == "moved-back-to-the-cpu", "the refusal comes first"
    assert symptoms(known, ">>> 参数设备分布: {'cuda:0'}\n") == []


def test_a_root_cause_comes_before_what_would_only_hide_what_follows_from_it(known):
    text = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nAssertionError: libcuda.so cannot found!\n"
    assert [(each.symptom.name, each.symptom.follows) for each in findings_in(known, text)] == [("libcuda-not-found", False), ("compile-backend-failed", True)]


def read_text(known, text):
    return known.outcome([log_of(text, known.patterns)])


def unexplained(known, text):
    """The errors in a log that no symptom is about."""
    return [each.text for each in read_text(known, text).errors.unexplained]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("ShopError: no such card: 7\n", "ShopError: no such card: 7"),
        ("[ERROR] the disk is full\n", "[ERROR] the disk is full"),
        ("[E tcp.cpp:12] it gave up\n", "[E tcp.cpp:12] it gave up"),
        ("terminate called after throwing an instance of 'std::bad_alloc'\n", "terminate called after throwing an instance of 'std::bad_alloc'"),
        ("Illegal instruction (core dumped)\n", "Illegal instruction (core dumped)"),
        ("the job exited with code 137\n", "exited with code 137"),
    ],
)
def test_an_unknown_error_is_named_even_without_a_traceback(known, text, error):
    outcome = read_text(known, f"Epoch 1\n[rank3]: {text}Epoch 2\n")
    assert [(each.text, each.ranks, each.line) for each in outcome.errors.unexplained] == [(error, (3,), 2)]


def test_the_installed_file_that_raised_is_named_beside_the_users_own(tmp_path):
    (tmp_path / "log").write_text(UNKNOWN)
    ended = sitepatch("diagnose", "log", cwd=tmp_path)
    lines = [line.strip() for line in ended.out.splitlines()[1:4]]
    assert lines == ["shop.cart.CartError: no such card: 7", "raised in /opt/venv/lib/python3.11/site-packages/shop/cart.py:7 in pay", "/srv/job/train.py:31 in <module>"]
    (error,) = json.loads(sitepatch("diagnose", "log", "--json", cwd=tmp_path).out)["unexplained"]
    assert (error["at"], error["raised_at"]) == ("/srv/job/train.py:31 in <module>", "/opt/venv/lib/python3.11/site-packages/shop/cart.py:7 in pay")


WAITS = "INFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: 0, key: k:1 (world_size=8, worker_count={}, timeout=0:30:00)\n"
LISTENS = "[E socket.cpp:435] [c10d] The server socket has failed to listen on any local network address.\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WAITS.format(7), ["ranks-missing-at-start"]),
        (WAITS.format(8), []),
        (WAITS.format(7) + "Epoch 1\n", []),
        (WAITS.format(7).replace("worker_count", "num_workers_joined") + "\n\n", ["ranks-missing-at-start"]),
        (LISTENS, ["port-in-use"]),
        (LISTENS + "Epoch 1\n", []),
    ],
)
def test_some_lines_are_an_error_only_where_a_log_ends_with_them(known, text, expected):
    outcome = read_text(known, "Epoch 0\n" + text)
    assert [each.symptom.name for each in outcome.findings] == expected
    assert outcome.ok == (not expected)
    assert outcome.errors.mentions == ()


@pytest.mark.parametrize("unit", ["No ", "No module named x", "a typical problem ", "new message ", "fixes a ", "Aborted a (", "x.y"])
def test_a_line_of_a_megabyte_is_read_however_it_repeats_itself(known, unit):
    """If the work grew with the square of a line, this would take hours."""
    assert read_text(known, unit * ((1 << 20) // len(unit))).logs[0].lines == 1


def test_a_traceback_that_is_pasted_without_its_end_is_named(known):
    text = '[rank1]: Traceback (most recent call last):\n[rank1]:   File "/srv/train.py", line 3, in step\n[rank1]:     go(\n'
    (cut,) = read_text(known, text).errors.unexplained
    assert (cut.text, cut.at, cut.ranks) == ("Traceback (most recent call last):", "/srv/train.py:3 in step", (1,))
    assert unexplained(known, f"ShopError: no card\n{text}") == ["ShopError: no card"]


def test_a_traceback_that_is_pasted_without_its_beginning_or_its_indentation_is_read(known):
    for text in (
        '  File "/srv/train.py", line 3, in step\n    go()\nAssertionError\n',
        'Traceback (most recent call last):\nFile "/srv/train.py", line 3, in step\nsubprocess.run(\nraise AssertionError(\nAssertionError\n',
    ):
        (cut,) = read_text(known, prefixed("[rank2]: ", text)).errors.unexplained
        assert (cut.text, cut.ranks) == ("AssertionError", (2,))
        (error,) = read_text(known, text).errors.unexplained
        assert (error.text, error.at) == ("AssertionError", "/srv/train.py:3 in step")


def test_an_error_stays_where_the_one_that_replaced_it_was_not_pasted(known):
    text = f"{UNKNOWN}\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
    assert unexplained(known, text) == ["shop.cart.CartError: no such card: 7"]
    assert unexplained(known, f"{text}ShopError: closed\n") == ["shop.cart.CartError: no such card: 7"]


def test_an_error_in_a_json_string_is_read_from_its_name_on(known):
    (error,) = read_text(known, '{"message": "it ended\\nShopError: closed"}\n').errors.unexplained
    assert error.text.startswith("ShopError: closed")


@pytest.mark.parametrize("before", ["A common problem is a run that ends so:", "The new error\nmessage looks like:", "This fixes an error:"])
@pytest.mark.parametrize("error", [REFUSED, "ShopError: closed\n"])
def test_an_example_of_an_error_is_not_an_error(known, before, error):
    assert read_text(known, f"{before}\n\n```text\n{error}```\n").ok
    assert not read_text(known, f"{before}\n\n```text\n{error}```\n" + "Epoch 1\n" * 9 + error).ok


def test_the_message_of_a_launcher_explains_no_error(known):
    text = "[rank1]: ShopError: closed\nERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 1 (pid: 7) of binary: python\n"
    assert unexplained(known, text) == ["ShopError: closed"]


def test_information_that_a_library_logs_is_no_error(known):
    line = "NET/Plugin : libnccl-net.so: cannot open shared object file: No such file or directory\n"
    assert symptoms(known, line) == ["shared-library-missing"]
    for begin in ("node-1:12:34 [3] NCCL INFO ", "2026-11-22 - mmengine - DEBUG - ", "[2026-11-22] [INFO] "):
        assert symptoms(known, begin + line) == []


def test_logged_errors_and_exit_codes_are_named_where_there_is_nothing_else(known):
    logged, code = "2026-11-22 10:00:00 ERROR the loader gave up\n", "exited with code 3\n"
    assert unexplained(known, logged + code) == ["ERROR the loader gave up"]
    assert unexplained(known, logged + "ShopError: closed\n" + code) == ["ShopError: closed"]
    assert read_text(known, logged + REFUSED + code).errors.unexplained == ()


@pytest.mark.parametrize("rest", ["Retrying in 5 seconds (attempt 1 of 3)\n", "WARNING: falling back to the CPU\n"])
@pytest.mark.parametrize("error", [UNKNOWN, REFUSED, "requests.exceptions.ConnectionError: no route\n"])
def test_a_failure_that_was_retried_is_no_error(known, error, rest):
    assert not read_text(known, error).ok and read_text(known, error + rest + "Epoch 2\n").ok


def test_a_retried_failure_that_comes_back_is_an_error(known):
    error = "[rank0]: RuntimeError: CUDA error: out of memory\n"
    rest = "".join(f"[rank0]: step {step}\n" for step in range(9))
    reader = LogReader("log", known.patterns)
    reader.feed(f"{error}[rank0]: Retrying in 5 seconds (attempt 1 of 3)\n{rest}".encode())
    assert known.outcome([reader.log()]).ok
    reader.feed(f"{error}{rest}".encode())  # each line is like one before
    assert [(each.lines.line, each.lines.number) for each in known.outcome([reader.log()]).findings] == [(12, 1)]


def test_a_failure_retried_in_the_next_block_is_no_error(known):
    error = "[rank0]: RuntimeError: CUDA error: out of memory\n"
    rest = "[rank0]: Retrying in 5 seconds\n" + "[rank0]: step 1\n" * 5
    reader = LogReader("log", known.patterns)
    for block in (rest, error, rest):  # the last one is like the first
        reader.feed(block.encode())
    assert known.outcome([reader.log()]).ok


def test_a_repeated_line_continues_in_the_next_block(known):
    reader = LogReader("log", known.patterns)
    for block in ("INFO of the machine: GPU has fallen off\n" * 9, "INFO of the machine: GPU has fallen off\n" * 9, "the bus\n"):
        reader.feed(block.encode())
    assert [(each.line, each.number) for each in reader.log().sightings] == [(18, 1)]


@pytest.mark.parametrize("word", OWN_WORDS)
def test_the_output_of_diagnose_is_no_log(known, word):
    error = "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'"
    assert not findings_in(known, f"{word}  set-device-without-cuda  train.log:4\n        {error}\n")


def test_the_output_of_diagnose_is_recognised_in_both_languages():
    words = {APPLICABLE, APPLIED, ABSENT, str(MISFIT), "unknown", "upstream", "not needed", "advice", "follows", "not known", "failed", "waited", "late"}
    assert set(OWN_WORDS) == words | {entries()[word][1] for word in words}


def test_an_error_that_a_text_merely_mentions_is_listed_and_nothing_is_wrong(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    title = "Fix AssertionError: libcuda.so cannot found!\n"
    (tmp_path / "job.log").write_text(title + FRAME + REFUSED + "Retrying in 5 seconds (attempt 1 of 3)\nEpoch 1\n")
    ended = site("diagnose", "job.log")
    assert (ended.code, ended.err) == (0, "") and "run  " not in ended.out
    first, *mentioned = ended.out.splitlines()
    assert first == "no known problem in 5 lines of 1 log"
    assert [" ".join(line.split())[:48] for line in mentioned] == [
        "also in the text job.log:1", title.strip()[:48], "also in the text job.log:3", REFUSED[:48],
    ]  # fmt: skip
    answer = json.loads(site("diagnose", "job.log", "--json").out)
    assert [each["line"] for each in answer["mentions"]] == [1, 3] and answer["cure"] == ""


@pytest.mark.parametrize(
    ("kind", "tool"),
    [("CUDA", "(nvidia-smi, npu-smi, mthreads-gmi, efsmi, ...)"), ("NPU", "(npu-smi)"), ("MUSA", "(mthreads-gmi)"), ("XPU", "(xpu-smi)")],
)
def test_the_tool_of_the_card_that_the_text_mentions_is_named(tmp_path, kind, tool):
    (tmp_path / "log").write_text(f"RuntimeError: {kind} out of memory. Tried to allocate 2.00 GiB\n")
    for words in ([], ["--json"]):
        out = sitepatch("diagnose", "log", "--target", tmp_path, *words, cwd=tmp_path).out
        assert tool in " ".join(out.split()) and "{smi}" not in out
    assert "{smi}" not in sitepatch("list", "Tried", "to", "allocate", cwd=tmp_path).out


def test_the_installed_package_of_a_card_names_the_device_in_the_command(tmp_path):
    (tmp_path / "torch_gcu").mkdir()
    (finding,) = findings_in(KnownSymptoms(Place(target=str(tmp_path))), FRAME + REFUSED)
    assert (finding.symptom.name, finding.symptom.options) == ("moved-back-to-the-cpu", {"device": "gcu"})


def test_a_cause_that_cannot_be_cured_here_has_no_command_that_hides_its_consequence(tmp_path):
    site = Site(tmp_path, "torch-2.7.1-musa")
    failed = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
    assert "torch-dynamo-suppress" in json_answer(site, failed)["cure"]
    answer = json_answer(site, failed + "AssertionError: libcuda.so cannot found!\n")
    assert [each["symptom"] for each in answer["findings"]] == ["libcuda-not-found", "compile-backend-failed"] and answer["cure"] == ""


def test_the_output_of_diagnose_is_not_diagnosed_again(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    (tmp_path / "job.log").write_text(REFUSED + FRAME)
    (tmp_path / "again.log").write_text(site("diagnose", "job.log").out)
    assert site("diagnose", "again.log").code == 0


def test_diagnose_prints_the_finding_its_details_and_the_command(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    (tmp_path / "job.log").write_text("".join(f"[rank{rank}]: {REFUSED}" for rank in (0, 1, 2, 5)) + FRAME)
    ended = site("diagnose", "job.log")
    assert (ended.code, ended.err) == (1, "")
    first, *details, run = ended.out.splitlines()
    assert first == "applicable  ddp-refuses-device-ids  job.log:1, ranks 0-2,5, 4 lines"
    assert [line.split()[0] for line in details] == ["[rank0]:", "it", "cured", "hint:"]
    assert run == f"run  sitepatch apply {DEVICE} --target {site.path}"
    chinese = site("diagnose", "job.log", SITEPATCH_LANG="zh").out.splitlines()
    assert chinese[-1] == f"运行  sitepatch apply {DEVICE} --target {site.path}"


def test_an_escape_sequence_is_made_visible(tmp_path):
    (tmp_path / "log").write_text(f"\x1b[2J\x1b]0;title\x07{REFUSED}")
    ended = sitepatch("diagnose", "log", "--target", tmp_path, cwd=tmp_path)
    assert "title␇ValueError" in ended.out and "\x1b" not in ended.out


# what is read ---------------------------------------------------------------------------------------------------------
def test_a_directory_that_may_not_be_read_is_reported(tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    # root may read any directory
    fail_once(monkeypatch, os, "scandir", PermissionError(13, "Permission denied", str(tmp_path / "one")), when=lambda path: str(path).endswith("one"))
    with pytest.raises(UsageError, match="one: it may not be read"):
        log_files([str(tmp_path)])


def test_a_closed_standard_input_is_named(tmp_path):
    line = f'exec "{sys.executable}" -m patcher diagnose - <&-'
    completed = subprocess.run(["sh", "-c", line], cwd=str(tmp_path), env=environ(), capture_output=True)
    assert completed.returncode == 2 and b"error: standard input is closed\nhint: name a file" in completed.stderr


# list TEXT ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "patchsets", "symptom"),
    [
        (REFUSED.strip(), {DEVICE, "mmengine-device"}, "ddp-refuses-device-ids"),
        ("DistributedDataParallel device_ids", {DEVICE, DDP, "mmengine-device"}, "ddp-refuses-device-ids"),
        ("has no attribute 'is_musa'", {"torch-musa-guard"}, "is-musa-not-defined"),
        ("backendcompilerfailed", {"torch-dynamo-suppress"}, "compile-backend-failed"),
        ("_cuda_setDevice", {DEVICE, "mmengine-device"}, "cuda-selected-without-cuda"),
        ("libcuda.so cannot found!", {"triton-libcuda-path"}, "libcuda-not-found"),
        ("torch.distributed.DistBackendError: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 10", set(), "one-gpu-for-two-ranks"),
        ("no such words anywhere", set(), ""),
    ],
)
def test_list_finds_the_patchsets_for_an_error_text(tmp_path, text, patchsets, symptom):
    ended = sitepatch("list", "--json", *text.split(), cwd=tmp_path)
    answer = json.loads(ended.out)
    assert ended.code == (0 if symptom else 1) and answer["ok"] == bool(symptom)
    assert patchsets <= {one["name"] for one in answer["patchsets"]} and len(answer["patchsets"]) < 5
    assert symptom in [one["name"] for one in answer["symptoms"]] or not (symptom or answer["symptoms"])


def test_list_shows_the_meaning_of_an_error_text(tmp_path):
    out = sitepatch("list", "is_musa", cwd=tmp_path).out
    assert "torch-musa-guard" in out and "it means: a vendor's PyTorch reads is_musa" in out
    assert "is-musa-not-defined: a vendor's PyTorch reads" in sitepatch("show", "torch-musa-guard", cwd=tmp_path).out
