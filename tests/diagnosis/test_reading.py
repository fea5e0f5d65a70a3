"""How a log is cut into blocks, lines and paragraphs, and what is searched in them: each rule at its limits."""

import io
import os
import re

import pytest

from patcher.diagnosis.failures import FailureReader
from patcher.diagnosis.files import log_files, read_log
from patcher.diagnosis.lines import Blocks, Line, begins, paragraphs
from patcher.diagnosis.log import LogReader
from patcher.diagnosis.rank_names import earlier_attempts, rank_of_file, rank_of_line
from patcher.errors import UsageError
from patcher.text.patterns import matches_pattern
from tests.diagnosis.logs import PACKED, REFUSED, entry, log_of, raised, summary

ROWS = b"".join(b"\x1b[1;31m%d\x1b(B\x1b[m%s\r\n" % (row, b"x" * (row % 97)) for row in range(3000))
TEXT = ROWS + b"y" * (5 << 18) + b"\n\nno end"


@pytest.mark.parametrize("size", [999, 1 << 15, 1 << 20, len(TEXT)])
@pytest.mark.parametrize("text", [TEXT, TEXT + b"\n"], ids=["no end", "ended"])
def test_the_blocks_of_a_stream_are_its_lines(size, text):
    stream = Blocks()
    blocks, lines = [], 0
    for at in range(0, len(text), size):
        piece = text[at : at + size]
        blocks += stream.feed(piece)
        lines += piece.count(b"\n")
        assert stream.total == lines + (not piece.endswith(b"\n"))
    blocks += stream.feed(b"", last=True)
    assert stream.total == lines + (not text.endswith(b"\n"))
    assert b"".join(block for _, block in blocks) == re.sub(rb"\x1b(\[1;31m|\(B|\[m)", b"", text).replace(b"\r\n", b"\n")
    first = 1
    for number, block in blocks:
        longest_line = 1 << 18 if b"y" in block else 120
        assert number == first
        assert len(block) <= (1 << 15) + longest_line
        first += block.count(b"\n")


def test_a_line_without_end_is_read_once_it_is_too_long():
    blocks = Blocks()
    assert blocks.total == 0
    assert not list(blocks.feed(b"x" * (1 << 18))) and blocks.total == 1
    assert [(number, len(block)) for number, block in blocks.feed(b"x")] == [(1, 1 << 18)] and blocks.total == 1
    assert [(number, block) for number, block in blocks.feed(b"y\nz\n")] == [(1, b"xy\nz\n")] and blocks.total == 2


@pytest.mark.parametrize(
    ("widths", "sizes"),
    [
        ([40, 12, 5], [3]), ([40, 11, 5], [2, 1]), ([40, 68], [2]), ([40, 69], [1, 1]), ([6, 5], [2]), ([5, 5], [1, 1]), ([34, 6, 1], [3]), ([33, 5, 1], [2, 1]),
        ([100] * 40, [31, 9]), ([*[100] * 29, *[101] * 6], [30, 5]), ([40, 40, 5, 40, 40], [3, 2]), ([40, 60, 87], [3]), ([60, 40, 89], [2, 1]), ([40, 68, 39], [3]), ([40, 60, 30, 30], [3, 1]), ([60, 32, 40], [3]),
        ([0, 5], [1, 1]), ([], []),
    ],
)  # fmt: skip
def test_lines_of_similar_width_are_a_paragraph(widths, sizes):
    lines = [Line(row, b"x" * width + b" " * 99, False) for row, width in enumerate(widths)]
    assert [len(paragraph) for paragraph in paragraphs(lines)] == (sizes or [0])


@pytest.mark.parametrize(
    ("line", "alone"),
    [
        ("[rank0]: x", True), ("[2026-01-02 x", True), ("[1] x", False), ("(RayWorker x", True), ('{"log": "x', True), ("2026-01-02 x", True), ("2026/01/02", True),
        ("12:34:56 x", True), ("12/24 x", True), ("12 x", False), ("E1206 x", True), ("File x", True), ("Traceback x", True), ("frame #3", True), ("ERROR x", True),
        ("torch.cuda.OutOfMemoryError: x", True), ("shop.error", False), ("", True), ("> | * File x", True), ("│ ┃ x", False), ("│ ┃ File x", True), ("x File y", False),
        (" " * 120 + "x", True), (" " * 119 + "x", False),
    ],
)  # fmt: skip
def test_a_line_that_begins_like_this_is_not_a_continuation(line, alone):
    assert begins(line.encode()) == alone


@pytest.mark.parametrize(
    ("pattern", "text", "has"),
    [
        ("no {device}", "no gcu", True), ("no {device}", "no gcu.x", False), ("no {device}", "no gcu. x", True), ("no {device}", "no gcux", True), ("no {device}", "no card", False),
        ("no card:", "no card:.x", True), ("no card", "no cards", False), ("no card", "no card.x", True), ("no card", "piano card", False), ("(no card", "piano(no card", True),
        ("{device} card", "xgcu card", False), ("no card", "NO\n> Card", True), ("no card", r"\nno card", True), ("no card", r"\u0041no card", True), ("no card", "_no card", False),
        ("no*card", "no such card", True), ("no*card", "card no", False), ("no*card", "no" + "x" * 4090 + "card", True), ("no*card", "no" + "x" * 4091 + "card", False),
        ("no*card", "no" + "x" * 3069 + " no" + "x" * 4000 + "card", True), ("no*such*card", "no card such", False), ("no*such*card", "no such such card", True),
        ("error 7", "error 7", True), ("error 7", "error 8", False),
        ("no card", "no cards, no card", True), ("no card", "no cardno card", True),
    ],
)  # fmt: skip
def test_a_pattern_is_found_here(pattern, text, has):
    assert matches_pattern(pattern, text) == has


PORT = "RuntimeError: Address already in use"


@pytest.mark.parametrize(
    ("line", "spoken"),
    [
        (PORT, False), (f"ignored: {PORT}", True), (f"{PORT} is ignored", True), (f"{PORT} {'x' * 169} ignored", True), (f"{PORT} {'x' * 170} ignored", False),
        (f"ignored {'x' * 191} {PORT[14:]}", True), (f"ignored {'x' * 192} {PORT[14:]}", False), (f"raise RuntimeError('{PORT[14:]}')", True), (f"node NCCL INFO {PORT}", True), (f"{PORT} NCCL INFO x", False),
        (f"fix: {PORT}", True), (f"abcdef0 Handle {PORT}", True), (f'- "{PORT}"', True), (f"retry failed: {PORT}", False), (f"retried: {PORT}", True),
    ],
)  # fmt: skip
def test_a_line_may_merely_mention_an_error(line, spoken):
    log = log_of(line, ["Address already in use"])
    assert bool(log.mentions) == spoken and bool(log.sightings) != spoken


def test_a_mentioned_error_does_not_count_as_one_that_happened():
    reader = LogReader("log", ["Address already in use"])
    for block in (f"[rank0]: {PORT}\n", f"[rank0]: ignored: {PORT}\n" * 5, f"[rank0]: ignored: {PORT}\n" * 5, f"[rank0]: {PORT}\n"):
        reader.feed(block.encode())
        reader.feed(b"[rank0]: step\n" * 5)
    (seen,), (mentioned, *_) = reader.log().sightings, reader.log().mentions
    assert (seen.line, seen.number, mentioned.line) == (1, 2, 7)


@pytest.mark.parametrize("how", PACKED)
def test_a_compressed_log_is_recognised(tmp_path, how):
    data = PACKED[how](REFUSED.encode())
    (tmp_path / "log").write_bytes(data)
    log = read_log("log", io.BufferedReader(io.BytesIO(data)))
    assert log.problem == f"its format is {how}, which is not read: unpack it into a pipe, as plain text" and log.is_damaged


def test_earlier_attempts_of_torchrun_are_told_apart():
    earlier = ["attempt_0/0/stdout.log", "attempt_0/0/stderr.log", "attempt_0/11/stderr.log", "attempt_9/1/stderr.log"]
    last = "attempt_10/0/stderr.log"
    of_two_runs = [f"{run}/{name}" for run in "ab" for name in earlier]
    others = [f"a/{last}", f"b/{last}", "c/attempt_0/0/stderr.log", "rank0.log"]
    assert earlier_attempts([*of_two_runs, *others]) == set(of_two_runs)


@pytest.mark.parametrize(("name", "rank"), [("attempt_1/7/stdout.log", 7), ("attempt_1/7/stderr.log.gz", None), ("rank-7", 7), ("rank7/log", None), ("rank12345678", None)])
def test_the_name_of_a_file_tells_its_rank(name, rank):
    assert rank_of_file(name) == rank


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        (" " * 100 + "[rank12345]: x", 12345), (" " * 109 + "[rank12345]: x", 12345), (" " * 110 + "[rank12345]: x", None), ("(worker rank=17 pid=4) x", 17),
        ("[rank 1] [rank 23]", 23), ("3: 4: x", 3), ('{"log":" 3: x', 3), ("[1,12]<stdout>: x", 12), ("x [1,12]: x", None),
    ],
)  # fmt: skip
def test_the_beginning_of_a_line_tells_its_rank(line, rank):
    assert rank_of_line(line.encode()) == rank


def read_failures(text):
    reader = FailureReader("log", None)
    for number, line in enumerate(text.encode().split(b"\n"), 1):
        reader.read(number, line)
    return reader


def test_an_error_file_is_read_only_in_a_summary():
    text = f"""{raised(0, "  File ").rpartition("  File")[0]}msg: "{{'message': 'KeyError: 1', 'extraInfo': {{}}}}"\nOSError: 2\n"""
    tracebacks = read_failures(text.replace("[rank0]: ", "")).tracebacks
    assert {rank: each.error for rank, each in tracebacks.items()} == {None: "OSError: 2"}


@pytest.mark.parametrize(("lines", "is_read"), [(0, True), (5, True), (6, False), (20, False)])
def test_an_entry_has_twelve_lines(lines, is_read):
    text = summary(entry(1, 1)).replace("  exitcode", "x\n" * lines + "  exitcode")
    summaries = read_failures(text).summaries
    assert len(summaries) == is_read
    for (failure,) in summaries:
        assert (failure.rank, failure.ending.exitcode) == (1, 1)


HEADER = "Traceback (most recent call last):\n"


@pytest.mark.parametrize(("header", "lines", "is_read"), [(HEADER, 4998, True), (HEADER, 5000, False), ("", 49, True), ("", 50, False)])
def test_the_length_of_a_traceback_is_bounded(header, lines, is_read):
    text = header + '  File "train.py", line 7, in main\n' + "    x\n" * lines + "KeyError: 1\n"
    tracebacks = {rank: (each.line, each.error, each.at) for rank, each in read_failures(text).tracebacks.items()}
    whole = {None: (text.count("\n"), "KeyError: 1", "train.py:7 in main")}
    assert (tracebacks == whole) == is_read


def test_the_number_of_ranks_with_a_traceback_is_bounded():
    many = read_failures("".join(raised(rank, f"KeyError: {rank}") for rank in range(1002)) + raised(999, "OSError: 1"))
    assert list(many.tracebacks) == list(range(1000)) and many.tracebacks[999].error == "OSError: 1"
    opened = read_failures("".join(f"[rank{rank}]: {HEADER}" for rank in range(1002)))
    assert len(opened.places) == 1000 and opened.reads_on


def test_the_number_of_summaries_and_of_entries_in_one_is_bounded():
    others = [entry(rank, 3) for rank in range(1005)]
    (failures,) = read_failures(summary(entry(7, 1), *others)).summaries
    assert [each.rank for each in failures] == [*range(1000), 7]
    assert len(read_failures(summary(entry(7, 1)) * 1005).summaries) == 1000


@pytest.mark.parametrize(
    ("line", "spoken"),
    [
        ("ShopError: closed", False), ("ShopError: closed WARNING: x", False), ("ignored: ShopError: closed", True), (f"ignored {'x' * 191} ShopError: closed", True), (f"ignored {'x' * 192} ShopError: closed", False),
        (f"ShopError: closed {'x' * 174} ignored", True), (f"ShopError: closed {'x' * 175} ignored", False), (f"ShopError: closed {'x' * 300} ignored", False),
    ],
)  # fmt: skip
def test_a_line_may_merely_mention_an_unknown_error(line, spoken):
    log = log_of(line)
    assert (len(log.mentions), len(log.errors)) == ((1, 0) if spoken else (0, 1))


@pytest.mark.parametrize("level", ["WARNING: ", "[INFO] ", "[W1027 10:00:00.000 socket.cpp:1] ", "DEBUG 7 "])
def test_what_a_logger_calls_less_than_an_error_is_no_error(level):
    log = log_of(f"{level}ShopError: closed\n")
    assert (log.errors, log.mentions) == ((), ())


def test_the_end_of_a_launcher_is_no_error_of_its_own():
    log = log_of(b"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py\nShopError: closed\n")
    assert [each.text for each in log.errors] == ["ShopError: closed"]


def test_an_error_of_a_logger_within_a_traceback_is_left_to_its_end():
    text = b'Traceback (most recent call last):\n  File "train.py", line 7, in main\n[ERROR] the shop is shut\nShopError: closed\n'
    assert [each.text for each in log_of(text).errors] == ["ShopError: closed"]


@pytest.mark.parametrize("error", ["ShopError: closed", 'Traceback (most recent call last):\n  File "a.py", line 7\nShopError: closed'])
@pytest.mark.parametrize(("line", "spoken"), [(7, True), (8, False)])
def test_an_example_has_six_lines_after_what_stands_before_it(error, line, spoken):
    text = "A typical error:\n" + "\n" * (line - 2 - error.count("\n")) + error
    assert bool(log_of(text).errors) != spoken


def test_the_patterns_of_an_error_are_those_around_it():
    (error,) = log_of(f"ShopError: {PORT}\n", ["Address already in use", "Address"]).errors
    assert sorted(error.patterns) == ["Address", "Address already in use"]


@pytest.mark.parametrize(("between", "left"), [(2, []), (3, [None])])
def test_the_traceback_of_a_retried_failure_is_forgotten(between, left):
    text = "x\n" * 3 + raised(0, "ShopError: closed").replace("[rank0]: ", "") + "\n" * between + "Retrying in 5 seconds\n"
    log = log_of(text)
    assert list(log.tracebacks) == left and bool(log.errors) == bool(left)


def test_an_error_stays_beside_the_next_one_unless_that_replaced_it():
    log = log_of(f"ShopError: closed\nCardError: none\n{PORT}\n", ["Address already in use"])
    assert [each.text for each in log.errors] == ["ShopError: closed", "CardError: none", PORT] and len(log.sightings) == 1


def test_unreadable_and_missing_logs_are_reported_together(tmp_path, monkeypatch):
    (tmp_path / "log").write_text("")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # whoever runs the tests
    with pytest.raises(UsageError, match=r"log: it may not be read\n.*gone: there is no such file"):
        log_files([str(tmp_path / "log"), str(tmp_path / "gone"), "-"])



def test_the_devices_are_those_of_the_text_around_errors():
    reader = LogReader("log")
    reader.feed(b"it trains on npu:0\n" * 3)
    assert reader.log().devices == ()
    reader.feed(b"the model is on gcu:0, on device musa:1\nShopError: closed\n")
    assert reader.log().devices == ("gcu", "musa")


def test_the_rank_of_a_refusal_is_the_first_that_its_lines_name():
    begin, end = REFUSED[:110], REFUSED[110:]  # of about one width
    for text, rank in ((f"{begin}\n 3: {end}", 3), (f" 4: {begin}\n 3: {end}", 4), (REFUSED, None)):
        assert [each[:] for each in log_of(f"x\n\n{text}").refusals] == [(3, rank, 0)]


def test_the_number_of_errors_is_bounded():
    letters = str.maketrans("0123456789", "abcdefghij")
    names = [f"{number:04}".translate(letters) for number in range(1100)]  # those with digits would be one error
    text = ""
    for rank, name in enumerate(names):
        text += f"[rank{rank}]: Shop{name}Error: closed\n[rank0]: ignored: Card{name}Error: closed\n"
    log = log_of(text)
    assert [each.text for each in log.errors] == [f"Shop{name}Error: closed" for name in names[:1000]]
    assert [each.ranks for each in log.errors] == [(rank,) for rank in range(1000)]
    assert [each.text for each in log.mentions] == [f"[rank0]: ignored: Card{name}Error: closed" for name in names[:1000]]


def test_the_number_of_ranks_and_places_of_one_error_is_bounded():
    text = ""
    for rank in range(1100):
        text += f'[rank{rank}]: ShopError: closed\nsitepatch-ddp {{"schema": 7\n[rank{rank}]: {REFUSED}'
    log = log_of(text)
    assert log.errors[0].number == 1100 and log.errors[0].ranks == tuple(range(1000))
    assert (len(log.cut), log.cut_count, len(log.refusals)) == (1000, 1100, 1000)


def test_a_log_is_read_in_pieces_of_a_megabyte():
    sizes = []
    read_log("log", io.BytesIO(b"x\n" * (5 << 18)), progress=sizes.append)
    assert sizes == [1 << 20, 1 << 20, 1 << 19]


STEPS = "".join(f"step {'x' * (number % 60)}\n" for number in range(100))


def test_a_line_after_a_long_block_has_its_number():
    reader = LogReader("log", ["Address already in use"])
    for block in (STEPS, f"{STEPS}RuntimeError: Address alrea\n", "dy in use\n"):
        reader.feed(block.encode())
    assert [(each.line, each.number) for each in reader.log().sightings] == [(201, 1)]


def test_a_failure_retried_before_a_long_block_is_no_error():
    reader = LogReader("log", ["Address already in use"])
    for block in (f"{PORT}\n", f"Retrying in 5 seconds\n{STEPS}"):
        reader.feed(block.encode())
    assert (reader.log().sightings, len(reader.log().mentions)) == ((), 2)
