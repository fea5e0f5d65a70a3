"""The form that a hunk is given where practice on real edits showed another one to be wrong or needlessly narrow."""

from __future__ import annotations

import pytest

from patcher.author.draft import FileEdit
from patcher.author.hunks.generalise import generalise

CASES = {
    "of a parameter that stays the annotation is left open": (
        "def f(a: int, b: int = 1, c: str = ''):\n    return a\n",
        "def f(a: int, b: int = 1, new: str = '', c: str = ''):\n    return a\n",
        "@@ f @@\n-def f(..., b=1, ...):\n+def f(..., b=1, new: str = '', ...):\n",
    ),
    "decorators stay in their order": (
        "@first(0)\n@second(1)\ndef f(a):\n    return a\n",
        "@first(0)\n@second(2)\ndef f(a):\n    return a\n",
        "@@ f @@\n @first(0)\n-@second(1)\n+@second(2)\n def f(...):\n",
    ),
    "a comment in a call does not stop its hunk": (
        "def f(a):\n    return call(\n        first=[1],  # one\n        second=a,\n    )\n",
        "def f(a):\n    return call(\n        first=[2, 3],  # two\n        second=abs(a),\n    )\n",
        "@@ f @@\n-call(first=[1], second=a)\n+call(first=[2, 3], second=abs(a))\n",
    ),
    "code that says too little of its place has context": (
        "def f(a):\n    host = get(a)\n    if host.name:\n        host = host.name\n    else:\n        host = ''\n    return host\n",
        "def f(a):\n    host = get(a)\n    if host.name:\n        host = host.name\n    else:\n        return ''\n    return host\n",
        "@@ f @@\n else:\n-    host = ''\n+    return ''\n",
    ),
    "what a neighbour shares with the new code is written": (
        "def f(path):\n    file = open(path)\n    try:\n        send(path)\n    finally:\n        drop(file.name)\n",
        "def f(path):\n    file = open(path)\n    try:\n        send(path)\n    finally:\n        file.close()\n        drop(file.name)\n",
        "@@ f @@\n+file.close()\n drop(file.name)\n",
    ),
    "what is wrapped stands where it stood": (
        "def f(a):\n    b = get(a)\n    parts = split(b)\n    return parts\n",
        "def f(a):\n    b = get(a)\n    if b:\n        parts = split(b)\n    return parts\n",
        "@@ f @@\n def f(...):\n     ...\n-    parts = $V\n+    if b:\n+        parts = $V\n     ...\n",
    ),
    "a comment above what is wrapped stays alone": (
        "def f(a):\n    b = get(a)\n\n    # why\n    send(b)\n",
        "def f(a):\n    b = get(a)\n\n    # why\n    try:\n        send(b)\n    finally:\n        print(b)\n",
        "@@ f @@\n def f(...):\n     ...\n-    send(...)\n+    try:\n+        send(...)\n+    finally:\n+        print(b)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_form_of_a_hunk(name):
    before, after, hunks = CASES[name]
    draft = generalise([FileEdit("p/m.py", before.encode(), after.encode())])
    assert draft.complete, draft
    assert draft.spatch() == f"--- p/m.py\n{hunks}"
