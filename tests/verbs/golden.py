"""The environments and commands whose answers and texts are kept below tests/golden, and how they are compared."""

import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

from tests.command import ROOT, environ, killed_once_committed, sitepatch
from tests.hooks import engine_wheel, packed
from tests.index import Index
from tests.places import venv, wheel
from tests.stores import temporary

GOLDEN = ROOT / "tests/golden"
MEASURED = ("size", "used", "seconds", "sha256", "digest")  # keys: of a cache, of verifying, of what holds our code
WRITE = os.environ.get("SITEPATCH_WRITE_GOLDEN") == "1"
M = "VALUE = 1\n\n\ndef double(x):\n    return VALUE * x\n"
STATES = """\
def once(x):
    return total(x, start=0)


def twice(x):
    print(x)
    print(x)


def fixed(x):
    return sum(x)
"""
DEMO = {"demo/__init__.py": "", "demo/m.py": M, "demo/n.py": M, "demo/states.py": STATES}
MANIFEST = """\
schema = 1
name = "{0}"
version = "1.0"
kind = "debug"
summary = "For a test"
{1}
[[variant]]
package = "{2}"
versions = ""
patches = ["p.spatch"]
"""
OPTIONS = """
[provenance]
author = "nobody"
forwarded = "not-needed"
[options.value]
type = "int"
default = 2
help = "the new value"
[options.lang]
type = "str"
default = "en"
choices = ["en", "zh"]
help = "a language"
[verify]
imports = ["demo.m"]
probe = "probe.py"
[[symptom]]
name = "demo-fails"
patterns = ["DemoError: * has failed", "demo failed as it always does"]
meaning = "demo has failed"
advice = "ask demo again"
options = { value = 3 }
"""


def change(path, new):
    return f"Why it is done.\n\n--- {path}\n@@ <module> @@\n-VALUE = 1\n+VALUE = {new}\n"


PATCHSETS = {  # name -> (more of the manifest, the .spatch), all for demo but `absent`
    "two": (OPTIONS, change("demo/m.py", "$value") + "+LANG = $lang\n"),
    "other": ("", change("demo/n.py", 3)),
    "rival": ("", change("demo/m.py", 4)),
    "breaks": ('[verify]\nimports = ["demo.n"]\n', change("demo/n.py", 5) + '+raise RuntimeError("as asked")\n'),
    "absent": ("", change("absent/m.py", 6)),
    "fits": ("", "--- demo/states.py\n@@ fixed @@\n-total(x)\n+sum(x)\n@@ once @@ when-present\n-never(x)\n+ever(x)\n"),
    "clashes": ("", "--- demo/states.py\n@@ fixed @@\n-sum(x)\n+min(x)\n@@ fixed @@\n-return sum(x)\n+return max(x)\n"),
    "fails": ("", (
        "--- demo/states.py\n@@ once @@\n-total(x, start=1)\n+sum(x)\n@@ twice @@\n-print(x)\n+pass\n"
        "@@ thrice @@\n-print(x)\n+pass\n--- demo/nowhere.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 7\n"
    )),
}  # fmt: skip


def rank(number, device):
    """The line of JSON that mmengine-ddp-debug prints on a rank."""
    env = {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": "2", "MASTER_PORT": "29500"}
    tensors = {device: 3}
    facts = {
        "schema": 7, "site": "Runner.wrap_model", "rank": number, "env": env, "host": "node-0", "pid": 1000 + number,
        "time": 1.7e9 + number, "sequence": 0, "world_size": 2, "mmengine": None,
        "wrapper": "MMDistributedDataParallel", "model": "Model", "get_device": "cuda", "parameters": tensors, "buffers": tensors,
        "trainable": 3, "current": {}, "device_ids": [number],
    }  # fmt: skip
    return f"sitepatch-ddp {json.dumps(facts)}\n"


class World:
    """A folder with a virtual environment that has demo 1.0, patchsets in ./patchsets, and the commands on them."""

    def __init__(self, folder):
        self.cwd, self.cache = folder, folder / "cache"
        self.python, self.path = venv(folder / "env")
        self.index = None
        self.install(wheel(folder / "wheels", files=DEMO))
        for name, (more, spatch) in PATCHSETS.items():
            self.write(f"patchsets/{name}/patchset.toml", MANIFEST.format(name, more, "absent" if name == "absent" else "demo"))
            self.write(f"patchsets/{name}/p.spatch", spatch)
        self.write("patchsets/two/probe.py", 'import demo.m\n\nprint("VALUE is", demo.m.VALUE)\n')

    def variables(self):
        more = self.index.variables(self.cache) if self.index else {"SITEPATCH_CACHE": str(self.cache), "PIP_NO_INDEX": "1"}
        path = os.pathsep.join([str(self.python.parent), os.environ["PATH"]])
        mine = {"VIRTUAL_ENV": str(self.cwd / "env"), "HOME": str(self.cwd), "PATH": path, "PYTHONDONTWRITEBYTECODE": ""}
        mine.update(TMPDIR=str(self.cwd), VISUAL="", EDITOR="false")
        return {**mine, "PYTHONPYCACHEPREFIX": "", "PYTHONNOUSERSITE": "1", **more}

    def write(self, path, text):
        """Write a file, in the environment where it is one of demo."""
        file = (self.path if path.startswith("demo/") else self.cwd) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def install(self, path):
        """Unpack a wheel into the environment."""
        with zipfile.ZipFile(str(path)) as archive:
            archive.extractall(str(self.path))

    def run(self, step, *options, start=sitepatch):
        """Run a command with more options."""
        words = shlex.split(step)
        at = words.index("--") if "--" in words else len(words)
        return start(*words[:at], *options, *words[at:], cwd=self.cwd, **self.variables())

    def do(self, step):
        """Do a step of a scenario; returns the record of a command, or None for any other step."""
        if isinstance(step, dict):
            for path, text in step.items():
                self.write(path, text)
            return None
        if callable(step):
            step(self)
            return None
        ended = self.run(step, "--json")
        record = {"command": f"sitepatch {step}", "exit code": ended.code}
        if ended.out:
            record["stdout"] = answer(ended.out)
        if ended.err and not isinstance(record.get("stdout"), dict):
            record["stderr"] = answer(ended.err)
        return record


    def tell(self, step, options, start):
        """Do a step; returns the text that a command prints for people."""
        if not isinstance(step, str):
            self.do(step)
            return ""
        ended = self.run(step, *options, start=start)
        parts = [f"$ sitepatch {step}", ended.out, *(["--- stderr", ended.err] if ended.err else []), f"--- exit code {ended.code}\n"]
        return "\n".join(part.rstrip("\n") for part in parts) + "\n\n"


def answer(text):
    """The content of a stream: a JSON object, or lines."""
    return json.loads(text) if text.startswith("{") and "\n{" not in text else text.splitlines()


def normalizer(world):
    """A function that replaces what depends on the machine, the interpreter or the time, in any JSON value."""
    replaced = [(re.escape(each), "<folder>") for each in (os.path.realpath(str(world.cwd)), str(world.cwd))]
    replaced += [(re.escape(sys.executable), "<python>"), (re.escape(str(ROOT)), "<checkout>")]
    replaced += [
        (r"python3\.\d+", "python3.X"),
        (r"\d+\.\d+\.\d+\S*\+h[0-9a-f]{12}", "<version>+h<digest>"),
        (r"\b[0-9a-f]{32}\b", "<overlay>"),
        (r"sitepatch-edit-[\w-]+", "<copies>"),
        (r"\d+\.\d [kM]B", "<size>"),
        (r"user \d+", "user <uid>"),
        (r"\d+\.\d\d s in all", "<seconds> s in all"),
    ]

    def normal(value, key=""):
        if key in MEASURED:
            return f"<{key}>"
        if isinstance(value, dict):
            return {name: normal(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [normal(each) for each in value if not str(each).startswith("sitepatch @ ")]  # where it is installed from
        for pattern, word in replaced if isinstance(value, str) else ():
            value = re.sub(pattern, word, value)
        return value

    return normal


def install_hook(world):
    path = packed(world.cwd / "patches", world.cwd / "dist")
    world.install(engine_wheel(world.cwd / "wheels"))
    world.install(path)


def start(world):
    subprocess.run([str(world.python), "-c", ""], check=True, env=environ(**world.variables()), stderr=subprocess.PIPE)


def kill(world):
    killed_once_committed(world, "apply", "two")


def damage(world):
    (receipt,) = world.path.glob(".sitepatch/receipts/*.json")
    receipt.write_text("no JSON")


def write_scripts(world):
    """Files that the system cannot run: one that is no program, one whose interpreter is not there."""
    for name, text in (("empty", ""), ("lost", "#!/nowhere/python\n")):
        world.write(name, text)
        (world.cwd / name).chmod(0o755)


def edit_copies(world):
    """Edit what `edit --no-editor` has copied."""
    (copies,) = world.cwd.glob("sitepatch-edit-*")
    (file,) = copies.rename(world.cwd / "copies").rglob("n.py")
    file.write_text(EDITED)


def leave(world):
    """Leave what an aborted run leaves beside applied files, and files in the store that belong to nothing."""
    for path in (*(f"demo/{name}" for name in temporary("demo/m.py")), ".sitepatch/receipts/odd", ".sitepatch/odd"):
        (world.path / path).write_text("")


def add_torch(world):
    shutil.copytree(ROOT / "tests/standin" / "torch", world.path / "torch")


def upgrade(world):
    shutil.rmtree(str(world.path / "demo-1.0.dist-info"))
    world.install(wheel(world.cwd / "wheels", version="2.0", files={**DEMO, "demo/m.py": f"# another release\n{M}"}))


def publish(world):
    world.index = Index()
    for version, text in (("1.0", f"# as it was\n{M}"), ("1.1", M.replace("VALUE", "OTHER")), ("1.2", f"{M}VALUE = 1\n")):
        world.index.add("demo", version, {"demo/__init__.py": "", "demo/n.py": text})


EDITED, ELSEWHERE = M.replace("1", "8"), "VALUE = 2\nLANG = 'en'\n" + M[10:] + "MINE = 1\n"
BROKEN = {"broken/bad/patchset.toml": MANIFEST.format("bad", 'kinds = "fix"', "demo"), "broken/bad/p.spatch": "--- demo/m.py\n"}
PROJECT = '[project]\nname = "shop"\n[tool.sitepatch]\npatchsets = ["two value=5", "other"]\n'
NOBODY = '[project]\nname = "shop"\n[tool.sitepatch]\npatchsets = []\n'
LESS, OTHERS = PROJECT.replace(', "other"', ""), PROJECT.replace("two value=5", "fails")
PRINT = "python -c 'import demo.m; print(demo.m.VALUE)'"
CASES = {
    "patchsets/two/cases/a.before.py": f"# case: demo/m.py value=5\n{M}", "patchsets/two/cases/a.after.py": f"VALUE = 5\nLANG = 'en'\n{M[10:]}",
    "patchsets/two/cases/b.upstream.py": f"# case: demo/m.py\n{M}",
}  # fmt: skip
TABLE = """\
two 1.0, 5 releases
not needed  demo  1.0
applicable  demo  1.1
applicable  demo  1.2
applicable  demo  1.3
conflict  demo  1.4
"""
NOT_NEEDED = "--- demo/states.py\n@@ once @@ when-present\n-never(x)\n+ever(x)\n"
FIX = (
    "Subject: Count on\n\nIt stopped at one.\n\n--- a/src/demo/m.py\n+++ b/src/demo/m.py\n@@ -5 +5 @@\n-    return VALUE * x\n"
    "+    return VALUE + x\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-VALUE\n+value\n"
    "--- /dev/null\n+++ b/src/demo/io/new.py\n@@ -0,0 +1 @@\n+VALUE = 1\n"
    "--- a/src/demo/gone.py\n+++ b/src/demo/gone.py\n@@ -1 +1 @@\n-x\n+y\n"
)
TROUBLE = "[rank1]: DemoError: it has failed\n[rank0]: DemoError: it has failed\nRuntimeError: Address already in use\n"
SCENARIOS = {
    "list": ["list", "list Address already in use", "list DemoError: it has failed", "list unheard of", "list --patch-dir nowhere", BROKEN, "list --patch-dir broken"],
    "show": ["show two", {"patchsets/two/compatibility.txt": TABLE}, "show two", "show toe", BROKEN, "show bad --patch-dir broken"],
    "apply": [
        "apply two --dry-run", "apply two", "apply two", "apply two other --set two.value=5 --verify probe --patch-dir patchsets",
        "apply other --verify probe", "apply two --restore",
    ],
    "apply-fits": ["apply fits"],
    "apply-does-not-fit": ["apply fails two", "apply two rival", "apply clashes", "apply absent"],
    "apply-wrong-words": [
        "apply nonsense", "apply two --set valeu=1", "apply two --set value=x", "apply two --set lang=fr", "apply",
        "apply two --restore --set value=1", "apply two --restore --verify probe", "apply two --target nowhere", "apply two --python nowhere", "apply two --forse",
    ],
    "apply-breaks": ["apply breaks", "apply breaks --verify none", "status --verify import"],
    "target": [{"lib/demo/__init__.py": "", "lib/demo/m.py": M}, *(f"{each} --target lib" for each in ("apply two", "status", "restore"))],
    "diff": [
        "diff", "diff two --exit-code", "apply two", "diff two other", "diff fails", {"demo/n.py": EDITED, "demo/m.py": ELSEWHERE},
        "diff", "diff --edited demo/n.py",
    ],
    "status": ["status --check", "apply two other", "status", {"patchsets/two/p.spatch": change("demo/m.py", 9)}, "status --check"],
    "restore": ["restore", "restore nonsense", "apply two other", "restore two --dry-run", "restore two", "restore"],
    "restore-from-backup": [
        {"demo/m.py": EDITED, "demo/m.py.orig": M}, "status", "doctor", "restore --from-backup --dry-run", "restore --from-backup demo/n.py",
        "restore --from-backup", "restore --from-backup",
    ],
    "edited-elsewhere": ["apply two", {"demo/m.py": ELSEWHERE}, "status", "diff", "apply two --set value=5", "status --verify import", "restore"],
    "edited-there": ["apply two", {"demo/m.py": EDITED}, "doctor", "restore", "restore --force", "status", "doctor"],
    "overwritten": ["apply two", upgrade, "status --check", "diff", "status --verify import", "restore two"],
    "interrupted": [
        kill, "doctor", "capture demo/n.py --name mine", f"run fits --overlay -- {PRINT}", "restore", kill, "status",
    ],
    "damaged": ["apply two", damage, "status", "apply other", "restore", "doctor"],
    "check-explain": [*(f"check {name} --explain" for name in ("two", "fits", "clashes", "fails", "absent")), "apply two", "check two --explain"],
    "capture": [
        "capture --name mine", {"demo/m.py": EDITED, "demo/m.py.orig": M}, "capture --name mine", "capture --name mine",
        "capture demo --name tracked --adopt", "status", {"demo/m.py": EDITED.replace("VALUE * x", "(VALUE *  x)")}, "capture --name odd",
        {"demo/m.py": EDITED + "# a remark\n"}, "capture --name remark", "capture nowhere --name nothing",
    ],
    "edit": [
        "edit demo n.py --name mine --no-editor", "edit demo o.py --name mine", edit_copies, "capture --from copies demo --name mine",
        "capture --from copies --name mine", "capture --from copies --name mine", "edit demo --name theirs",
    ],
    "import": [
        {"fix.patch": FIX}, "import fix.patch --name mine", "import fix.patch --name mine --leave-out src/demo/gone.py",
        "import fix.patch --name mine",
        {"other.patch": FIX.replace("VALUE", "OTHER")}, "import other.patch --name theirs", "import nothing.patch --name theirs",
        "import fix.patch --name theirs --also nowhere",
    ],
    "update": [
        {"patchsets/other/patchset.toml": MANIFEST.format("other", "", "demo").replace('""', '"==0.9"')}, "update other", publish,
        "update other --to 1.1", "update other --to 1.0 --edit", "update other --to x", "update torch-musa-guard",
    ],
    "export": [
        "export two", "export two --set value=5 --output two.patch",
        "export other --format wheel --wheel wheels/demo-1.0-py3-none-any.whl", "export two other", "export fails", "export absent",
        {"lib/demo/__init__.py": "", "lib/demo/m.py": f"# \x0c, as it is\n{M}"}, "export two --target lib",
    ],
    "check": [
        "check two other", "check two rival", "check nonsense", "check two --html page.html", "check two other --explain", BROKEN,
        "check --patch-dir broken", {"patchsets/two/p.spatch": change("demo/m.py", 9)}, "check two",
    ],
    "check-cases": [CASES, "check two", {"patchsets/other/cases/a.py": ""}, "check two other"],
    "check-against": [publish, "check other --against all", "check other --against x"],
    "status-verify": [
        "status --verify import", "status two --verify import", "status nonsense", "apply two other",
        "status --verify probe --patch-dir patchsets", "status other --verify compile",
    ],
    "sync": [
        "sync", {"pyproject.toml": PROJECT}, "sync --dry-run", "sync", "sync", {"pyproject.toml": LESS}, "sync", {"pyproject.toml": NOBODY}, "sync", "sync",
        {"pyproject.toml": "", "requirements.txt": "demo==1.0  # sitepatch: fails\n"}, "sync -r requirements.txt",
    ],
    "hook": [
        "hook status", "hook init patches", {"pyproject.toml": PROJECT}, "hook init patches",
        "hook init patches --mode loud", install_hook, "hook status", start, "hook status",
        {"demo/m.py": EDITED}, "hook status", "restore --force", {"pyproject.toml": ""}, "hook init patches", "hook init patches --set two.value=7",
        "hook init patches other two other --set two.value=4 --mode warn", "hook init empty", "hook init patches --name 'no name'",
        lambda world: (world.cwd / "patchsets").rename(world.cwd / "elsewhere"), "hook init patches",
        lambda world: (world.cwd / "elsewhere/two").chmod(0o777), "hook init patches two --patch-dir elsewhere",
    ],
    "run": [
        f"run two -- {PRINT}", f"run fails -- {PRINT}", "run two -- nowhere", "run two", f"run -- {PRINT}", {"pyproject.toml": PROJECT},
        f"run --verify compile -- {PRINT}", "run -- sh -c 'exit 7'",
        write_scripts, "run -- ./empty", "run -- ./lost",
    ],
    "run-overlay": [
        f"run two --overlay -- {PRINT}", f"run two --overlay -- {PRINT}", f"run fails --overlay -- {PRINT}",
        "run two --overlay -- python -I -c pass", "doctor",
    ],
    "doctor": [
        "apply two other", "doctor", {"demo/n.py.bak": "", "demo/states.py": STATES + "MINE = 1\n"}, BROKEN, "doctor --patch-dir broken",
        leave, "doctor", "restore two", damage, "doctor",
    ],
    "usage": [
        "", "show", "shw two", "show two --patch-dir", "show two --json=1", "capture demo", "import --name mine", "status --verify nope",
        "diagnose 1.log --ranks 0", "list --patch-dir patchsets --frob", "--verify none apply two", "hook", "hook nonsense", "restore one two --al",
    ],
    "diagnose": [
        "diagnose 1.log", {"1.log": "Epoch 1\n"}, "diagnose 1.log", {"1.log": TROUBLE}, "diagnose 1.log", "apply two", "diagnose 1.log",
        {"patchsets/two/patchset.toml": "schema = 2"}, "diagnose 1.log",
    ],
    "diagnose-fits": [
        {"1.log": TROUBLE}, "apply other", "diagnose 1.log", {"patchsets/two/p.spatch": PATCHSETS["two"][1] + NOT_NEEDED}, "diagnose 1.log",
    ],
    "diagnose-ranks": [
        {"1.log": rank(0, "cuda:0"), "2.log": rank(1, "cpu")}, "diagnose 1.log 2.log",
        {"2.log": rank(1, "cuda:1"), "3.log": rank(1, "cpu")[:99]}, "diagnose 1.log 2.log",
        "diagnose 2.log 3.log", "diagnose 1.log --run 2",
    ],
    "diagnose-talk": ["diagnose --ranks 2", add_torch, "diagnose --ranks 2", "diagnose --ranks 2 1.log", "diagnose 1.log --backend gloo"],
    "demo": ["demo"],
}  # fmt: skip


def compared(path, text):
    """Fail where a text differs from its golden file; with SITEPATCH_WRITE_GOLDEN=1 write the file instead."""
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    golden = path.read_text(encoding="utf-8") if path.exists() else ""
    diff = difflib.unified_diff(golden.splitlines(), text.splitlines(), path.name, "now", lineterm="")
    assert text == golden, "\n".join(diff)
