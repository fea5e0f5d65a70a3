"""Shared by the tests of logs: real errors, compressed logs, summaries of torchrun, and the findings in a text."""

import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile

from patcher.diagnosis.files import read_log
from tests.command import ROOT

LOGS = ROOT / "tests/logs"
REFUSED = (
    "ValueError: DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU "
    "modules or CPU modules, but got device_ids [0], output_device None, and module parameters {device(type='cpu')}.\n"
)
PLAIN = "device-ids-without-a-device"  # what it is where the log shows no MMEngine
FRAME = '  File "/opt/venv/lib/python3.11/site-packages/mmengine/runner/runner.py", line 890, in wrap_model\n'
REFUSAL = "ValueError: DistributedDataParallel device_ids and output_device arguments only work with single-device GPU modules\n"


def sections(*names):
    """(heading, text) of each part of the files of logs."""
    texts = ""
    for name in names:
        _, _, text = (LOGS / f"{name}.log").read_text(encoding="utf-8").partition("\n\n")
        texts += text
    parts = re.split(r"^=== (.*)\n", texts, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2]))


def log_of(text, patterns=(), name="log"):
    """What is read from a log with this text or these bytes."""
    data = text if isinstance(text, bytes) else text.encode()
    return read_log(name, io.BufferedReader(io.BytesIO(data)), patterns)


class Dribble(io.BytesIO):
    """A stream that gives at most so many bytes at a time."""

    def __init__(self, data, size):
        super().__init__(data)
        self.size = size

    def read1(self, _=-1):
        return super().read(self.size)


def findings_in(known, *texts):
    """The symptoms found in some logs."""
    logs = [log_of(text, known.patterns, name=f"{at}.log") for at, text in enumerate(texts)]
    return known.outcome(logs).findings


def json_answer(site, text, *words):
    """What `diagnose --json` answers for a log with this text."""
    (site.cwd / "job.log").write_text(text)
    ended = site("diagnose", "job.log", "--json", *words)
    answer = json.loads(ended.out)
    assert ended.code == (0 if answer["ok"] else 1), ended
    return answer


def zipped(data):
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("log", data)
    return out.getvalue()


def tarred(data, how="gz"):
    with tarfile.open(fileobj=(out := io.BytesIO()), mode=f"w:{how}") as archive:
        info = tarfile.TarInfo("log")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


PACKED = {"zstd": lambda data: b"\x28\xb5\x2f\xfd" + data, "bzip2": bz2.compress, "xz": lzma.compress, "zip": zipped, "tar": tarred,
          "UTF-16": lambda data: data.decode().encode("utf-16"), "gzip": lambda data: gzip.compress(gzip.compress(data))}  # fmt: skip


def prefixed(prefix, text):
    return "".join(prefix + line for line in text.splitlines(keepends=True))


def of_docker(text):
    """The log of a container with this text."""
    lines = [json.dumps({"log": line, "stream": "stderr"}) for line in text.splitlines(keepends=True)]
    return "".join(f"{line}\n" for line in lines)


def entry(rank, ending, time="2026-11-23_07:51:54"):
    """The entry of a rank in such a summary; `ending` is an exit code or the name of a signal."""
    code = {"SIGTERM": -15, "SIGKILL": -9, "SIGSEGV": -11, "SIGABRT": -6}.get(ending, ending)
    signal = f" ({ending})" if code != ending else ""
    fields = {
        "time": time,
        "host": "a",
        "rank": f"{rank} (local_rank: {rank})",
        "exitcode": f"{code} (pid: 9) {signal}",
        "error_file": "<N/A>",
        "traceback": "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
    }
    return f"[{rank}]:\n" + "".join(f"  {name:10}: {value}\n" for name, value in fields.items())


def summary(first, *others):
    """A summary as torchrun writes it."""
    return f"Failures:\n{''.join(others)}-----\nRoot Cause (first observed failure):\n{first}=====\n"


def raised(rank, error):
    """A traceback on a rank that ends with this error."""
    return prefixed(f"[rank{rank}]: ", f'Traceback (most recent call last):\n  File "train.py", line 7, in main\n{error}\n')
