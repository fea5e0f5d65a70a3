"""The form of a hunk where practice with real edits showed another one to be wrong or needlessly narrow."""

import pytest

from patcher.author.hunks.differences import apply_differences, differences
from patcher.author.hunks.generalise import generalise
from patcher.author.spatch_draft import FileEdit
from patcher.engine.tree import Tree

NAMES = [f"    'name {number}',\n" for number in range(9)]
TABLE = "".join(["NAMES = (\n", *NAMES, ")\n"])
PROPERTY = """    @property
    def size(self) -> "int":
        return self._size

    @size.setter
    def size(self, size: "int") -> None:
        self._size = size
"""
FOUND_IN_A_LOOP = """def f(self, new: int | None):
    start(self)
    items = []
    for ch in self.parent.items:
        if ch is self:
            assert new
            items.extend(new)
        else:
            items.append(ch)
    self.parent.items = items
    self.parent.changed()
    for x in new:
        x.parent = self.parent
    stop(self)
"""
FOUND_BY_INDEX = """def f(self, new: int | None):
    start(self)
    parent = self.parent
    for i, ch in enumerate(parent.items):
        if ch is self:
            break
    else:
        raise ValueError(new)
    parent.items[i] = new
    parent.changed()
    for x in new:
        x.parent = parent
    stop(self)
"""
CASES = {
    "an element that goes from a long tuple, between its neighbours": (
        TABLE,
        TABLE.replace(NAMES[4], ""),
        "@@ <module> @@\n-NAMES = (..., 'name 3', 'name 4', 'name 5', ...)\n+NAMES = (..., 'name 3', 'name 5', ...)\n",
    ),
    "an element that changes in a long tuple, below its neighbour": (
        TABLE,
        TABLE.replace("name 4", "made up"),
        "@@ <module> @@\n-NAMES = (..., 'name 3', 'name 4', ...)\n+NAMES = (..., 'name 3', 'made up', ...)\n",
    ),
    "an element that changes in a short tuple, with all before it": (
        "NAMES = ('one', 'two', 'three')\n",
        "NAMES = ('one', 'two', 'four')\n",
        "@@ <module> @@\n-NAMES = ('one', 'two', 'three')\n+NAMES = ('one', 'two', 'four')\n",
    ),
    "an insertion below a `try` is below its beginning": (
        "def f(a):\n    try:\n        a.shut()\n        a.end()\n    except OSError:\n        print(a)\n",
        "def f(a):\n    try:\n        a.shut()\n        a.end()\n    except OSError:\n        print(a)\n    a.gone = True\n",
        "@@ f @@ inside=scope\n try:\n     a.shut()\n     ...\n+a.gone = True\n",
    ),
    "a branch that comes first is above the header, whatever is below that, or above what is": (
        "def f(a):\n    if a.is_posix:  # all\n        if a.is_user or a.is_guest:\n            return 1\n        return 2\n    else:\n        return 3\n",
        "def f(a):\n    if a.is_haiku:\n        return 0\n    elif a.is_posix:  # all\n        if a.is_user or a.is_guest:\n            return 1\n"
        "        return 2\n    else:\n        return 3\n",
        "@@ f @@\n-if a.is_posix:  # all\n+if a.is_haiku:\n+    return 0\n+elif a.is_posix:  # all\n     ...\n"
        "@@ or @@\n-if $C:\n+if a.is_haiku:\n+    return 0\n+elif $C:\n     if a.is_user or a.is_guest:\n         ...\n     ...\n",
    ),
    "several branches that come first are one hunk": (
        "def f(a):\n    if a.x:\n        return 1\n    elif a.y:\n        return 5\n",
        "def f(a):\n    if a.v:\n        return 2\n    elif a.w:\n        return 3\n    elif a.x:\n        return 1\n    elif a.y:\n        return 5\n",
        "@@ f @@\n-if a.x:\n+if a.v:\n+    return 2\n+elif a.w:\n+    return 3\n+elif a.x:\n     ...\n",
    ),
    "branches that come first and one that comes last are one hunk": (
        "def f(a):\n    if a.x:\n        return 1\n    elif a.y:\n        return 5\n",
        "def f(a):\n    if a.v:\n        return 2\n    elif a.x:\n        return 1\n    elif a.y:\n        return 5\n    else:\n        return 4\n",
        "@@ f @@\n-if a.x:\n+if a.v:\n+    return 2\n+elif a.x:\n     return 1\n elif a.y:\n     return 5\n+else:\n+    return 4\n",
    ),
    "calls beside one another that change alike are told by their arguments": (
        "def f(h):\n    h.pop(h.one, None)\n    h.pop(h.two, None)\n    h.pop(h.three, None)\n    h.pop(h.four, None)\n",
        "def f(h):\n    h.popall(h.one, None)\n    h.popall(h.two, None)\n    h.popall(h.three, None)\n    h.pop(h.four, None)\n",
        "@@ f @@\n-h.pop(h.one, None)\n+h.popall(h.one, None)\n\n@@ f @@\n-h.pop(h.two, None)\n+h.popall(h.two, None)\n\n"
        "@@ f @@\n-h.pop(h.three, None)\n+h.popall(h.three, None)\n",
    ),
    "where no smaller part of a function is safe, it is written from the first statement that changed to the last": (
        FOUND_IN_A_LOOP,
        FOUND_BY_INDEX,
        """@@ f @@
-items = []
-for ch in self.parent.items:
+parent = self.parent
+for i, ch in enumerate(parent.items):
     if ch is self:
-        assert new
-        items.extend(new)
-    else:
-        items.append(ch)
-self.parent.items = items
-self.parent.changed()
+        break
+else:
+    raise ValueError(new)
+parent.items[i] = new
+parent.changed()
 for x in new:
-    x.parent = self.parent
+    x.parent = parent
""",
    ),
    "of two statements with one header and one `else` the right one is told by how it begins": (
        "def f(a):\n    if a.x:\n        a.one()\n        a.end()\n    else:\n        a.stop()\n    if a.x:\n        a.two()\n        a.end()\n    else:\n        a.stop()\n",
        "def f(a):\n    if a.x:\n        a.one()\n        a.end()\n    else:\n        a.stop()\n    if a.x:\n        a.two()\n        a.end()\n    else:\n        a.check()\n        a.stop()\n",
        "@@ f @@\n if a.x:\n     a.two()\n     ...\n else:\n+    a.check()\n     ...\n",
    ),
    "below an import of a function what it imports is left open": (
        "def f(a):\n    from lib import run as go\n    try:\n        go(a)\n    except OSError:\n        return\n",
        "def f(a):\n    from lib import run as go\n    a.end()\n    try:\n        go(a)\n    except OSError:\n        return\n",
        "@@ f @@\n from lib import ...\n+a.end()\n@@ or @@\n+a.end()\n try:\n     go(a)\n",
    ),
    "what is last in a function does not go into a block": (
        "def f(a):\n    b = start(a)\n    send(b, a)\n",
        "def f(a):\n    b = start(a)\n    send(b, a)\n    a.report()\n",
        "@@ f @@ inside=scope\n send(..., a)\n+a.report()\n",
    ),
    "of a parameter that stays the annotation is left open": (
        "def f(a: int, b: int = 1, c: str = ''):\n    return a\n",
        "def f(a: int, b: int = 1, new: str = '', c: str = ''):\n    return a\n",
        "@@ f @@\n-def f(..., b=1, ...):\n+def f(..., b=1, new: str = '', ...):\n",
    ),
    "of a parameter with another default the annotation is left open": (
        "def f(a: int, b: int = 1, c: str = ''):\n    return a\n",
        "def f(a: int, b: int = 2, c: str = ''):\n    return a\n",
        "@@ f @@\n-def f(..., b=1, ...):\n+def f(..., b=2, ...):\n@@ or @@\n-def f(..., b=$number, ...):\n+def f(..., b=2, ...):\n",
    ),
    "of a parameter with another annotation it is written": (
        "def f(a: int, b: int = 1, c: str = ''):\n    return a\n",
        "def f(a: int, b: bool = 2, c: str = ''):\n    return a\n",
        "@@ f @@\n-def f(..., b: int = 1, ...):\n+def f(..., b: bool = 2, ...):\n",
    ),
    "an insertion is beside either neighbour, whose annotation is left open": (
        "class A:\n    x: int | None = None\n\n    def f(self):\n        return 1\n",
        "class A:\n    x: int | None = None\n    y = 1\n\n    def f(self):\n        return 1\n",
        "@@ A @@\n x = None\n+y = 1\n@@ or @@\n+y = 1\n def f(...):\n     ...\n",
    ),
    "an import is where the edit has it, else where it may be": (
        "import re\nfrom lib import b\n",
        "import re\nimport os\nfrom lib import b\n",
        "@@ <module> @@\n import re\n+import os\n@@ or @@\n+import os\n ...\n",
    ),
    "a docstring that changed in several parts is replaced": (
        'def f(a):\n    """F.\n\n    a: one\n    b: it\n    """\n    return a\n',
        'def f(a):\n    """F.\n\n    a: two\n    b: is\n    """\n    return a\n',
        '@@ f @@ when-present\n-"""F.\n-\n-    a: one\n-    b: it\n-    """\n+"""F.\n+\n+    a: two\n+    b: is\n+    """\n return a\n',
    ),
    "parts of a docstring that need the same line are one hunk": (
        'def f(a):\n    """F.\n\n    a: one\n    int\n    c: is\n    int\n    """\n    return a\n',
        'def f(a):\n    """F.\n\n    a: two\n    int\n    b: it\n    c: is\n    int\n    """\n    return a\n',
        '@@ f @@ when-present\n-"""F.\n-\n-    a: one\n-    int\n-    c: is\n-    int\n-    """\n'
        '+"""F.\n+\n+    a: two\n+    int\n+    b: it\n+    c: is\n+    int\n+    """\n',
    ),
    "a text of which a word changed is replaced": (
        'def f(a):\n    send("could not open the file of the user", a)\n',
        'def f(a):\n    send("could not read the file of the user", a)\n',
        '@@ f @@\n-"could not open the file of the user"\n+"could not read the file of the user"\n',
    ),
    "so is an f-string": (
        'def f(a):\n    send(f"could not open {a} of the user", a)\n',
        'def f(a):\n    send(f"could not open {a} of the group", a)\n',
        '@@ f @@\n-f"could not open {a} of the user"\n+f"could not open {a} of the group"\n',
    ),
    "a text that gets another prefix is replaced": (
        'def f(a):\n    send("one two three", a)\n',
        'def f(a):\n    send(r"one two four", a)\n',
        '@@ f @@\n-"one two three"\n+r"one two four"\n',
    ),
    "a text of several literals is replaced": (
        'def f(a):\n    send("one two three " "four", a)\n',
        'def f(a):\n    send("one two tree " "four", a)\n',
        '@@ f @@\n-"one two three " "four"\n+"one two tree " "four"\n',
    ),
    "an insertion between a comment and its statement is below that comment": (
        "def f(a):\n    b = 1\n    # why\n    if a.b:\n        return b\n",
        "def f(a):\n    b = 1\n    # why\n    print(b)\n    if a.b:\n        return b\n",
        "@@ f @@\n # why\n+print(b)\n if a.b:\n     ...\n@@ or @@\n b = 1\n+print(b)\n@@ or @@\n+print(b)\n if a.b:\n     ...\n",
    ),
    "a comment inside changed code that has no place is left": (
        "def f(a):\n    a.b.read()\n    return a\n",
        "def f(a):\n    a.b.read(\n        # why\n        one=a.b.c, two=a.b.d, three=a.c.d,\n    )\n    return a\n",
        "@@ f @@ inside=scope\n-a.b.read()\n+a.b.read(\n+    one=a.b.c, two=a.b.d, three=a.c.d,\n+)\n return a\n"
        "@@ or @@ inside=scope\n-a.b.read()\n+a.b.read(\n+    one=a.b.c, two=a.b.d, three=a.c.d,\n+)\n",
    ),
    "a keyword that passes on what is called so tells no call from another": (
        "def f(a, N, W):\n    return launch(x=a.b, N=N, W=W, size=a.c)\n",
        "def f(a, N, W):\n    return launch(x=a.b, N=N, W=W, more=abs(W), size=a.c)\n",
        "@@ f @@\n-launch(x=a.b, N=N, W=W, ...)\n+launch(x=a.b, N=N, W=W, more=abs(W), ...)\n"
        "@@ or @@\n-return launch(...)\n+return launch(more=abs(W), ...)\n",
    ),
    "what goes around an expression goes around another one, too": (
        "def f(a):\n    size = max(power(a.hint(a.length)), 1 if a.xpu.is_free() else 16)\n    return size\n",
        "def f(a):\n    size = power(a.hint(a.length))\n    return size\n",
        "@@ f @@\n-size = max(power(...), 1 if a.xpu.is_free() else 16)\n+size = power(...)\n"
        "@@ or @@\n-max($V, 1 if a.xpu.is_free() else 16)\n+$V\n",
    ),
    "what goes around all that a call is passed does not": (
        "def f(a):\n    size = str(a.stack.entered(power(a.hint(a.length))))\n    return size\n",
        "def f(a):\n    size = str(power(a.hint(a.length)))\n    return size\n",
        "@@ f @@\n-str(a.stack.entered(power(a.hint(a.length))))\n+str(power(a.hint(a.length)))\n",
    ),
    "an Ellipsis that goes is no run": (
        "def f(a):\n    ...\n",
        "def f(a):\n    return a\n",
        "@@ f @@\n def f(...):\n-    (...)\n+    return a\n",
    ),
    "an Ellipsis that goes from a block is no run": (
        "def f(a):\n    a.run(1)\n    ...\n    return a\n",
        "def f(a):\n    a.run(1)\n    return a\n",
        "@@ f @@\n a.run(...)\n-(...)\n return a\n",
    ),
    "an Ellipsis that comes in place of code is no run": (
        "def f(a):\n    try:\n        if not a.ready():\n            a.wait(1)\n    except ValueError:\n        pass\n",
        "def f(a):\n    try:\n        ...\n    except ValueError:\n        pass\n",
        "@@ f @@\n try:\n-    if not a.ready():\n-        a.wait(1)\n+    (...)\n",
    ),
    "an Ellipsis that is passed is no run": (
        "class A:\n    name: str = Field(..., size=3)\n    other = 1\n",
        "class A:\n    name: str = Field(..., size=3)\n    more: str = Field(..., size=4)\n    other = 1\n",
        "@@ A @@\n+more: str = Field((...), size=4)\n other = 1\n@@ or @@\n name: str = Field(...)\n+more: str = Field((...), size=4)\n",
    ),
    "an Ellipsis in a subscript is written as it is": (
        "def f(a):\n    b: Tuple[int, ...] = a.b[..., 0]\n    return b\n",
        "def f(a):\n    b: Tuple[int, ...] = a.b[..., 1]\n    return b\n",
        "@@ f @@\n-b = a.b[..., 0]\n+b = a.b[..., 1]\n return b\n",
    ),
    "decorators stay in their order": (
        "@second(1)\n@first(0)\n@second(1)\ndef f(a):\n    return a\n",
        "@second(1)\n@first(0)\n@second(2)\ndef f(a):\n    return a\n",
        "@@ f @@\n @second(1)\n @first(0)\n-@second(1)\n+@second(2)\n def f(...):\n",
    ),
    "of several decorators those that change are written": (
        "@first(0)\n@second(1)\ndef f(a):\n    return a\n",
        "@first(0)\n@second(2)\ndef f(a):\n    return a\n",
        "@@ f @@\n-@second(1)\n+@second(2)\n def f(...):\n",
    ),
    "a decorator that goes needs no other one": (
        "@first(0)\n@second(1)\ndef f(a):\n    return a\n",
        "@first(0)\ndef f(a):\n    return a\n",
        "@@ f @@\n-@second(1)\n def f(...):\n",
    ),
    "a new decorator is beside one of its neighbours": (
        "@first\n@second\n@third\n@fourth\ndef f(a):\n    return a\n",
        "@first\n@second\n@third\n@callable\n@fourth\ndef f(a):\n    return a\n",
        "@@ f @@\n @third\n+@callable\n def f(...):\n@@ or @@\n+@callable\n @fourth\n def f(...):\n",
    ),
    "a new decorator directly above the name needs no neighbour": (
        "@first\n@second\ndef f(a):\n    return a\n",
        "@first\n@second\n@callable\ndef f(a):\n    return a\n",
        "@@ f @@\n @second\n+@callable\n def f(...):\n@@ or @@\n+@callable\n def f(...):\n",
    ),
    "a comment in a decorator does not stop its hunk": (
        "@first([\n    # one\n    call(1),\n    2,\n])\ndef f(a):\n    return a\n",
        "@first([\n    # one\n    call(3),\n    2,\n])\ndef f(a):\n    return a\n",
        "@@ f @@\n-call(1)\n+call(3)\n",
    ),
    "a comment in a call does not stop its hunk": (
        "def f(a):\n    return call(\n        first=[1],  # one\n        second=a,\n    )\n",
        "def f(a):\n    return call(\n        first=[2, 3],  # two\n        second=abs(a),\n    )\n",
        "@@ f @@\n-call(first=[1], second=a, ...)\n+call(first=[2, 3], second=abs(a), ...)\n",
    ),
    "a comment in an import does not stop its hunk": (
        "from lib import (\n    a,\n    b,\n    c,\n    d,  # why\n)\n",
        "from lib import (\n    a,\n    c,\n    d,  # why\n)\n",
        "@@ <module> @@ inside=scope\n-from lib import (a, b, c, ...)\n+from lib import (a, c, ...)\n",
    ),
    "of two blocks that change places the shorter one moves": (
        "def f(a):\n    if a.one:\n        g(a)\n    if a.two:\n        h(a)\n        h(a.b)\n    return a\n",
        "def f(a):\n    if a.two:\n        h(a)\n        h(a.b)\n    if a.one:\n        g(a)\n    return a\n",
        "@@ f @@\n def f(...):\n-    if a.one:\n-        g(a)\n     if a.two:\n         ...\n     ...\n\n"
        "@@ f @@\n if a.two:\n     ...\n+if a.one:\n+    g(a)\n",
    ),
    "elements that are removed from a list stand between their neighbours": (
        "names = ['b', 'c', 'd', 'e', 'f', 'g', 'h']\n",
        "names = ['b', 'c', 'f', 'g', 'h']\n",
        "@@ <module> @@\n-names = [..., 'c', 'd', 'e', 'f', ...]\n+names = [..., 'c', 'f', ...]\n",
    ),
    "code that says too little of its place has context, or is the only one": (
        "def f(a):\n    host = get(a)\n    if host.name:\n        host = host.name\n    else:\n        host = ''\n    return host\n",
        "def f(a):\n    host = get(a)\n    if host.name:\n        host = host.name\n    else:\n        return ''\n    return host\n",
        "@@ f @@\n else:\n-    host = ''\n+    return ''\n@@ or @@\n-host = ''\n+return ''\n",
    ),
    "a guard that goes is above what it guarded": (
        "def f(path, root):\n    name = Path(path)\n    if name.anchor:\n        raise Forbidden()\n    full = root.join(name)\n    return full\n",
        "def f(path, root):\n    name = Path(path)\n    full = root.join(name)\n    return full\n",
        "@@ f @@\n name = $V1\n-if name.anchor:\n-    raise Forbidden()\n full = $V2\n"
        "@@ or @@\n-if name.anchor:\n-    raise Forbidden()\n full = $V\n",
    ),
    "an f-string that becomes two literals in a row is replaced": (
        "def f(name):\n    raise ValueError(f'{name}: it is missing, only one is there')\n",
        "def f(name):\n    raise ValueError(f'{name}: it is missing or old, '\n                     'only one is there')\n",
        "@@ f @@\n-raise ValueError(f'{name}: it is missing, only one is there')\n"
        "+raise ValueError(f'{name}: it is missing or old, '\n+                 'only one is there')\n",
    ),
    "what comes between two definitions that are renamed is one hunk with the lower one": (
        "def one(a):\n    return int(a)\n\n\ndef two(a):\n    return str(a)\n\n\ndef use(a):\n    return one(a), two(a)\n",
        "def first(a):\n    return int(a)\n\n\none = first\n\n\ndef second(a):\n    return str(a)\n\n\ntwo = second\n\n\n"
        "def use(a):\n    return one(a), two(a)\n",
        "@@ one @@\n-def one(...):\n+def first(...):\n\n@@ <module> @@\n+one = first\n+\n+\n-def two(...):\n+def second(...):\n\n"
        "@@ <module> @@\n+two = second\n+\n+\n def use(...):\n     ...\n",
    ),
    "what a neighbour shares with the new code is written": (
        "def f(path):\n    file = open(path)\n    try:\n        send(path)\n    finally:\n        drop(file.name)\n",
        "def f(path):\n    file = open(path)\n    try:\n        send(path)\n    finally:\n        file.close()\n        drop(file.name)\n",
        "@@ f @@\n+file.close()\n drop(file.name)\n@@ or @@\n finally:\n+    file.close()\n     ...\n",
    ),
    "what is wrapped stands where it stood": (
        "def f(a):\n    b = get(a)\n    parts = split(b)\n    return parts\n",
        "def f(a):\n    b = get(a)\n    if b:\n        parts = split(b)\n    return parts\n",
        "@@ f @@\n def f(...):\n     ...\n-    parts = $V\n+    if b:\n+        parts = $V\n     ...\n",
    ),
    "what is wrapped stays word for word where another branch has it otherwise": (
        "def f(a):\n    b = get(a)\n    parts = split(b)\n    return parts\n",
        "def f(a):\n    b = get(a)\n    if b:\n        parts = split(b, 1)\n    else:\n        parts = split(b)\n    return parts\n",
        "@@ f @@\n def f(...):\n     ...\n-    parts = split(b)\n+    if b:\n+        parts = split(b, 1)\n+    else:\n+        parts = split(b)\n     ...\n",
    ),
    "a call that is wrapped, too": (
        "def f(a):\n    b = get(a)\n    send(b)\n",
        "def f(a):\n    b = get(a)\n    if a:\n        send(b)\n    else:\n        send(a, b)\n",
        "@@ f @@\n def f(...):\n     ...\n-    send(b)\n+    if a:\n+        send(b)\n+    else:\n+        send(a, b)\n",
    ),
    "the comment behind what is replaced goes with it": (
        "def f(a, weight):\n    return weight.total(a)  # why\n", "def f(a, weight):\n    raise ValueError('edited')\n", "@@ f @@ inside=scope\n-return weight.total(a)  # why\n+raise ValueError('edited')\n",
    ),
    "and is written where the edit keeps it": (
        "def f(a, weight):\n    return weight.total(a)  # why\n", "def f(a, weight):\n    raise ValueError('edited')  # why\n", "@@ f @@ inside=scope\n-return weight.total(a)\n+raise ValueError('edited')  # why\n",
    ),
    "so is a call of several lines, below a comment": (
        "def f(a):\n    for b in a:\n        a.send(b,\n               mode=1)\n",
        "def f(a):\n    for b in a:\n        # why\n        if b:\n            a.send(b,\n                   mode=1)\n        else:\n            print()\n",
        "@@ f @@\n for b in a:\n-    a.send(..., mode=1)\n+    # why\n+    if b:\n+        a.send(..., mode=1)\n+    else:\n+        print()\n",
    ),
    "and of which another branch has it otherwise": (
        "def f(a):\n    for b in a:\n        a.send(b,\n               mode=1)\n",
        "def f(a):\n    for b in a:\n        if b:\n            a.send(b,\n                   mode=1)\n        else:\n            a.send(a)\n",
        "@@ f @@\n for b in a:\n-    a.send(b,\n-           mode=1)\n+    if b:\n+        a.send(b,\n+               mode=1)\n+    else:\n+        a.send(a)\n",
    ),
    "of two statements that change places the shorter one moves, also where the other one changes": (
        "def f(a, b):\n    start(a)\n    if not a:\n        if b:\n            stop(b)\n            drop(b)\n        return\n    if a.used:\n        b.add(a)\n    send(a)\n",
        "def f(a, b):\n    start(a)\n    if a.used:\n        b.add(a)\n    if not a:\n        if b:\n            stop(b)\n            drop(b)\n            b.add(b)\n        return\n    send(a)\n",
        "@@ f @@\n+if a.used:\n+    b.add(a)\n if not a:\n     ...\n\n@@ f @@\n drop(b)\n+b.add(b)\n\n@@ f @@\n if not a:\n     ...\n-if a.used:\n-    b.add(a)\n send(...)\n",
    ),
    "but not where little of that one stays": (
        "def f(a, b):\n    start(a)\n    if not a:\n        a.one()\n        a.two()\n        a.three()\n        a.four()\n    for c in b:\n        c.open()\n        c.close()\n    send(a)\n",
        "def f(a, b):\n    start(a)\n    for c in b:\n        c.open()\n        c.close()\n    if not a:\n        b.five()\n        b.six()\n        b.seven()\n        b.eight()\n    send(a)\n",
        "@@ f @@\n start(...)\n-if not a:\n-    a.one()\n-    a.two()\n-    a.three()\n-    a.four()\n for c in b:\n     ...\n@@ or @@ inside=scope\n-if not a:\n-    a.one()\n-    a.two()\n-    a.three()\n-    a.four()\n\n@@ f @@\n for c in b:\n     ...\n+if not a:\n+    b.five()\n+    b.six()\n+    b.seven()\n+    b.eight()\n@@ or @@\n+if not a:\n+    b.five()\n+    b.six()\n+    b.seven()\n+    b.eight()\n send(a)\n",
    ),
    "what comes below a `with` is not where there is none: what it holds may be why": (
        "def f(a, data):\n    with a.lock:\n        while data:\n            data = a.read(data)\n        a.note()\n",
        "def f(a, data):\n    with a.lock:\n        if a.closing:\n            return\n        while data:\n            data = a.read(data)\n        a.note()\n",
        "@@ f @@ inside=with\n+if a.closing:\n+    return\n while data:\n     ...\n@@ or @@\n with a.lock:\n+    if a.closing:\n+        return\n     ...\n",
    ),
    "what comes last in a module is at its end, whatever is above it there": (
        "def old(a):\n    return a\n\n\nold = old\n",
        "def old(a):\n    return a\n\n\nold = old\nnew = old\n",
        "@@ <module> @@\n ...\n+new = old\n",
    ),
    "but not a requirement of which parts stay": (
        "TABLE = {\n    'demo': 'demo>=1.2,<2.0',\n    'other': 'other',\n}\n",
        "TABLE = {\n    'demo': 'demo>=1.1,<2.0',\n    'other': 'other',\n}\n",
        "@@ <module> @@\n-TABLE = {'demo': 'demo>=1.2,<2.0', ...}\n+TABLE = {'demo': 'demo>=1.1,<2.0', ...}\n",
    ),
    "a comment above what is wrapped stays alone": (
        "def f(a):\n    b = get(a)\n\n    # why\n    send(b)\n",
        "def f(a):\n    b = get(a)\n\n    # why\n    try:\n        send(b)\n    finally:\n        print(b)\n",
        "@@ f @@\n def f(...):\n     ...\n-    send(...)\n+    try:\n+        send(...)\n+    finally:\n+        print(b)\n",
    ),
    "a helper that only functions use goes to the end, and keeps the blank lines around it above it": (
        "def f(a):\n    return str(a)\n",
        "def _h(a):\n    return a\n\n\ndef f(a):\n    return str(_h(a))\n",
        "@@ <module> @@\n ...\n+\n+\n+def _h(a):\n+    return a\n\n@@ f @@\n def f(...):\n-    return str(a)\n+    return str(_h(a))\n",
    ),
    "a function that is decorated stays where it is: it may be put into a table": (
        "def one(a):\n    return str(a)\n\n\ndef two(a):\n    return int(a)\n",
        "def one(a):\n    return str(a)\n\n\n@one\ndef more(a):\n    return a\n\n\ndef two(a):\n    return int(a)\n",
        "@@ <module> @@\n def one(...):\n     ...\n+\n+\n+@one\n+def more(a):\n+    return a\n@@ or @@\n+@one\n+def more(a):\n+    return a\n+\n+\n def two(...):\n     ...\n",
    ),
    "what is defined at the end of a module stays there": (
        "class One:\n    pass\n\n\nclass Two(One):\n    pass\n",
        "class One:\n    pass\n\n\nclass Two(One):\n    pass\n\n\nclass Three(One):\n    size = 3\n",
        "@@ <module> @@\n ...\n+\n+\n+class Three(One):\n+    size = 3\n",
    ),
    "a helper that a class calls while it is imported stays above it": (
        "import os\n\n\nclass A:\n    x = os.name\n",
        "import os\n\n\ndef _h(a):\n    return a\n\n\nclass A:\n    x = _h(os.name)\n",
        "@@ <module> @@\n+def _h(a):\n+    return a\n+\n+\n class A:\n     ...\n"
        "@@ or @@\n import os\n+\n+\n+def _h(a):\n+    return a\n\n@@ A @@\n-x = os.name\n+x = _h(os.name)\n",
    ),
    "a helper that the module calls through a method while it is imported stays above it": (
        "class A:\n    def f(self, a):\n        return str(a)\n\n\nX = A().f(1)\n",
        "class A:\n    def f(self, a):\n        return _h(str(a))\n\n\ndef _h(a):\n    return a\n\n\nX = A().f(1)\n",
        "@@ A.f @@\n def f(...):\n-    return str(...)\n+    return _h(str(...))\n\n"
        "@@ <module> @@\n class A:\n     ...\n+\n+\n+def _h(a):\n+    return a\n"
        "@@ or @@\n+def _h(a):\n+    return a\n+\n+\n X = $V\n",
    ),
    "an import does not go above another one of the same name": (
        "import os\nfrom lib import time\n",
        "import os\nfrom lib import time\nimport time\n",
        "@@ <module> @@\n from lib import time\n+import time\n",
    ),
    "an import does not go above one of all names": (
        "import os\nfrom lib import *\n",
        "import os\nfrom lib import *\nimport time\n",
        "@@ <module> @@\n from lib import *\n+import time\n",
    ),
    "a comment at the end of a block is not inserted again": (
        "def f(a):\n    send(a)\n\n    # the end\n\n\ndef g(a):\n    send(a)\n",
        "def f(a):\n    send(a)\n\n    # the end\n    return a\n\n\ndef g(a):\n    send(a)\n",
        "@@ f @@ inside=scope\n send(a)\n+return a\n",
    ),
    "an escape that Python warns of becomes another one": (
        "import re\nNAME = re.compile('\\w+ (\\d)')\nTEXT = '\\d'\n",
        "import re\nNAME = re.compile(r'\\w+ (\\d)')\nTEXT = '\\\\d'\n",
        "@@ <module> @@\n-NAME = re.compile('\\w+ (\\d)')\n+NAME = re.compile(r'\\w+ (\\d)')\n\n@@ <module> @@\n-TEXT = '\\d'\n+TEXT = '\\\\d'\n",
    ),
    "so does one of an f-string": (
        "def f(a):\n    return a.match(f'{a.b}\\d+ \\d')\n",
        "def f(a):\n    return a.match(rf'{a.b}\\d+ \\d')\n",
        "@@ f @@\n-a.match(f'{a.b}\\d+ \\d')\n+a.match(rf'{a.b}\\d+ \\d')\n",
    ),
    "a string that looks like a placeholder is written by its value": (
        'def f(a):\n    return a.get("$HOME")\n',
        'def f(a):\n    return a.get("$ROOT")\n',
        '@@ f @@\n-a.get("\\x24HOME")\n+a.get("$ROOT")\n',
    ),
    "blanks at the end of a line in a string stay": (
        "def f(a):\n    send(a)\n",
        "def f(a):\n    send(a)\n    text = \"\"\"one  \n  two\"\"\"\n",
        "@@ f @@ inside=scope\n send(...)\n+text = \"\"\"one  \n+  two\"\"\"\n",
    ),
    "a line break that comes into a string is a change": (
        "def f(a):\n    send('', a)\n",
        "def f(a):\n    send('\\n', a)\n",
        "@@ f @@\n-send('', ...)\n+send('\\n', ...)\n",
    ),
    "what is inserted above a class that gets a decorator is one hunk with it": (
        "class A:\n    x = 1\n",
        "import lib\n\n\n@lib.known\nclass A:\n    x = 1\n",
        "@@ <module> @@\n+import lib\n+\n+\n+@lib.known\n class A:\n",
    ),
    "what is inserted below a header that changes, of which no form may be written in another hunk, is one hunk with it": (
        "def f(a):\n    low = 0\n    while True:\n        start = a[low]\n        low += start\n",
        "def f(a):\n    low = 0\n    while low < 9:\n        print(low)\n        start = a[low]\n        low += start\n",
        "@@ f @@\n-while True:\n+while low < 9:\n+    print(low)\n     ...\n",
    ),
    "what is inserted at the end of a block and below it are two hunks": (
        "def f(a):\n    if a:\n        send(a)\n",
        "def f(a):\n    if a:\n        send(a)\n        print(1)\n    print(2)\n",
        "@@ f @@\n send(...)\n+print(1)\n\n@@ f @@ inside=scope\n if a:\n     ...\n+print(2)\n",
    ),
    "an argument in parentheses is left open as another one is": (
        "def f(a):\n    send((g(a)), [2], 3)\n    return a\n",
        "def f(a):\n    send((g(a)), [2], 4)\n    return a\n",
        "@@ f @@\n-send(..., 3, ...)\n+send(..., 4, ...)\n",
    ),
    "one of two functions of the same name and body is named by what stands beside it": (
        "X = 1\n\n\ndef f(a):\n    send(a)\n    return a\n\n\nY = f(X)\n\n\ndef f(a):\n    send(a)\n    return a\n",
        "X = 1\n\n\ndef f(a):\n    send(a)\n    return a\n\n\nY = f(X)\n\n\ndef f(a):\n    send(a)\n    return [a]\n",
        "@@ <module> @@\n Y = $V\n def f(...):\n     ...\n-    return a\n+    return [a]\n",
    ),
    "the first of two functions of the same name and body is named by what stands below it": (
        "def f(a):\n    send(a)\n\n\nX = 1\n\n\ndef f(a):\n    send(a)\n",
        "def f(a):\n    send(a, 1)\n\n\nX = 1\n\n\ndef f(a):\n    send(a)\n",
        "@@ <module> @@\n def f(...):\n-    send(a)\n+    send(a, 1)\n X = 1\n",
    ),
    "one of several definitions with the same header is named by what stands beside it": (
        "class A:\n    x = 1\n\n    def f(self): ...\n\n    def g(self): ...\n\n    def f(self): ...\n",
        "class A:\n    x = 1\n\n    def f(self, b): ...\n\n    def g(self): ...\n\n    def f(self): ...\n",
        "@@ A @@\n x = 1\n-def f(...):\n+def f(..., b):\n",
    ),
    "a method of one of two equal classes is named by what stands beside the class": (
        "class A:\n    def f(self):\n        x = 1\n        return x\n\n\nclass B: ...\n\n\nclass A:\n    def f(self):\n        x = 1\n        return x\n",
        "class A:\n    def f(self):\n        x = 1\n        return x\n\n\nclass B: ...\n\n\nclass A:\n    def f(self):\n        x = 2\n        return x\n",
        "@@ <module> @@\n class B:\n     ...\n class A:\n     def f(...):\n-        x = 1\n+        x = 2\n         ...\n",
    ),
    "what comes into a method of one of two equal classes has its neighbour too": (
        "if X:\n    class A:\n        def f(self):\n            y(1)\n            return self\nelse:\n    class A:\n        def f(self):\n            y(1)\n            return self\n",
        "if X:\n    class A:\n        def f(self):\n            y(1)\n            return self\nelse:\n    class A:\n        def f(self):\n            y(1)\n            print()\n            return self\n",
        "@@ <module> @@\n else:\n     class A:\n         def f(...):\n             y(...)\n+            print()\n             ...\n",
    ),
    "the setter of a property is named by its decorator": (
        "class A:\n    @property\n    def x(self):\n        return self.y\n\n    @x.setter\n    def x(self, y):\n        self.y = y\n",
        "class A:\n    @property\n    def x(self):\n        return self.y\n\n    @x.setter\n    def x(self, y):\n        print(y)\n        self.y = y\n",
        "@@ A.x @@\n @x.setter\n def x(...):\n+    print(y)\n     ...\n",
    ),
    "of the only definition of its name the decorators are left open": (
        "@lib.known\ndef f(a):\n    send(a)\n    return a\n",
        "@lib.known\ndef f(a):\n    print(a)\n    send(a)\n    return a\n",
        "@@ f @@\n def f(...):\n+    print(a)\n     ...\n",
    ),
    "an attribute of one of two equal classes": (
        "class A:\n    x = 1\n    y = 1\n\n\nclass A:\n    x = 1\n    y = 1\n",
        "class A:\n    x = 1\n    y = 1\n\n\nclass A:\n    x = 2\n    y = 1\n",
        "@@ <module> @@\n class A:\n     ...\n class A:\n-    x = 1\n+    x = 2\n     ...\n",
    ),
    "a clause of one of several statements of a module is named by how the statement begins": (
        "try:\n    import one\n    ONE = True\nexcept Exception:\n    ONE = False\ntry:\n    import two\n    TWO = True\nexcept Exception:\n    TWO = False\n",
        "try:\n    import one\n    ONE = True\nexcept Exception as error:\n    print(error)\n    ONE = False\ntry:\n    import two\n    TWO = True\nexcept Exception:\n    TWO = False\n",
        "@@ <module> @@\n try:\n     import one\n     ...\n-except Exception:\n+except Exception as error:\n+    print(error)\n     ...\n",
    ),
    "a clause of one of several statements of a module that begin alike is named by what the statement has": (
        "try:\n    import one\n    ONE = True\nexcept Exception:\n    ONE = False\ntry:\n    import one\n    TWO = True\nexcept Exception:\n    TWO = False\n",
        "try:\n    import one\n    ONE = True\nexcept Exception as error:\n    print(error)\n    ONE = False\ntry:\n    import one\n    TWO = True\nexcept Exception:\n    TWO = False\n",
        "@@ <module> @@\n try:\n     import one\n     ONE = True\n-except Exception:\n+except Exception as error:\n+    print(error)\n     ONE = False\n",
    ),
    "a clause that comes to one of several statements": (
        "try:\n    import one\nexcept ImportError:\n    one = None\ntry:\n    import two\nexcept ImportError:\n    two = None\n",
        "try:\n    import one\nexcept ImportError:\n    one = None\nelse:\n    print(one)\ntry:\n    import two\nexcept ImportError:\n    two = None\n",
        "@@ <module> @@\n try:\n     import one\n except ImportError:\n     ...\n+else:\n+    print(one)\n",
    ),
    "a list is not left open until nothing names its place": (
        "__all__ = ['first', 'second']\n",
        "__all__ = ['first', 'second', 'third']\n",
        "@@ <module> @@\n-__all__ = [...]\n+__all__ = [..., 'third']\n",
    ),
    "of a dict one entry stays, without which it may be a set, and what follows it is open": (
        "CODES = {\n    'first': 1,\n    'second': 2,\n}\n",
        "CODES = {\n    'first': 1,\n    'second': 2,\n    'third': 3,\n}\n",
        "@@ <module> @@\n-CODES = {..., 'second': 2, ...}\n+CODES = {..., 'second': 2, ..., 'third': 3}\n",
    ),
    "an entry of a dict that changed tells that as well": (
        "CODES = {\n    'first': 1,\n    'second': 2,\n}\n",
        "CODES = {\n    'first': 5,\n    'second': 2,\n    'third': 3,\n}\n",
        "@@ <module> @@\n-CODES = {'first': 1, ...}\n+CODES = {'first': 5, ..., 'third': 3}\n",
    ),
    "but not behind what is unpacked": (
        "CODES = {\n    'first': 1,\n    **other,\n}\n",
        "CODES = {\n    'first': 1,\n    **other,\n    'third': 3,\n}\n",
        "@@ <module> @@\n-CODES = {..., **other}\n+CODES = {..., **other, 'third': 3}\n",
    ),
    "what a function returns stays unwritten where it stays": (
        "def f(a: int, b) -> List[int]:\n    return a\n",
        "def f(a: int, b, c=1) -> List[int]:\n    return a\n",
        "@@ f @@\n-def f(...):\n+def f(..., c=1):\n",
    ),
    "the type of a name stays unwritten where it stays": (
        "def f(a):\n    x: int = 1\n    return a\n",
        "def f(a):\n    x: int = 2\n    return a\n",
        "@@ f @@\n-x = 1\n+x = 2\n return a\n",
    ),
    "a key before the default that changed stays": (
        'def f(cfg):\n    return cfg.get("debug_toolbar", False)\n',
        'def f(cfg):\n    return cfg.get("debug_toolbar", True)\n',
        '@@ f @@\n-cfg.get("debug_toolbar", False, ...)\n+cfg.get("debug_toolbar", True, ...)\n',
    ),
    "a keyword's value and a dotted name before what changed stay, and what is computed is left open": (
        "def f(a):\n    send(a.key, g(a), name='x', flag=True, rest=[1])\n    return a\n",
        "def f(a):\n    send(a.key, g(a), name='x', flag=False, rest=[1])\n    return a\n",
        "@@ f @@\n-send(a.key, ..., name='x', flag=True, ...)\n+send(a.key, ..., name='x', flag=False, ...)\n"
        "@@ or @@\n-send(..., name='x', flag=True)\n+send(..., name='x', flag=False)\n",
    ),
    "what stands before an argument that comes stays": (
        "def f(a):\n    a.option('--name', g(a))\n    return a\n",
        "def f(a):\n    a.option('--name', g(a), default=1)\n    return a\n",
        "@@ f @@\n-a.option('--name', ...)\n+a.option('--name', ..., default=1)\n",
    ),
    "a word alone is no place: the call around it is written": (
        "def f(cfg):\n    return cfg.get('backend', 'nccl')\n",
        "def f(cfg):\n    return cfg.get('backend', 'gloo')\n",
        "@@ f @@\n-cfg.get('backend', 'nccl', ...)\n+cfg.get('backend', 'gloo', ...)\n",
    ),
    "a call of one name below a key does not stand without it": (
        "def f(version):\n    return compare('deepspeed', '<', parse('0.6'))\n",
        "def f(version):\n    return compare('deepspeed', '<', parse('0.7'))\n",
        "@@ f @@\n-compare('deepspeed', '<', parse('0.6'), ...)\n+compare('deepspeed', '<', parse('0.7'), ...)\n",
    ),
    "behind a key nothing stands alone": (
        "def f(cfg):\n    return cfg.get('debug', cfg.level(cfg.other))\n",
        "def f(cfg):\n    return cfg.get('debug', cfg.level(cfg.other, 1))\n",
        "@@ f @@\n-cfg.get('debug', cfg.level(cfg.other), ...)\n+cfg.get('debug', cfg.level(cfg.other, 1), ...)\n",
    ),
    "nor behind one of a dict": (
        "def f(cfg):\n    return {'debug': cfg.level(cfg.other), 'rest': 1}\n",
        "def f(cfg):\n    return {'debug': cfg.level(cfg.other, 1), 'rest': 1}\n",
        "@@ f @@\n-{'debug': cfg.level(cfg.other), ...}\n+{'debug': cfg.level(cfg.other, 1), ...}\n",
    ),
    "a call of one name stands with the name that it is assigned to": (
        "def f(version):\n    lowest = parse('0.6')\n    return lowest\n",
        "def f(version):\n    lowest = parse('0.7')\n    return lowest\n",
        "@@ f @@\n-lowest = parse('0.6')\n+lowest = parse('0.7')\n",
    ),
    "of a list the literal or name directly before what changed stays": (
        "def f(a):\n    command = ['run', '--nodes', 1, '--last']\n    return command\n",
        "def f(a):\n    command = ['run', '--nodes', 2, '--last']\n    return command\n",
        "@@ f @@\n-[..., '--nodes', 1, ...]\n+[..., '--nodes', 2, ...]\n",
    ),
    "of a tuple every literal and name before what changed stays": (
        "def f(a):\n    row = ('name', a, 1, '--last')\n    return row\n",
        "def f(a):\n    row = ('name', a, 2, '--last')\n    return row\n",
        "@@ f @@\n-('name', a, 1, ...)\n+('name', a, 2, ...)\n",
    ),
    "a key of a call that is wrapped in another one stays": (
        "def f(cfg):\n    cfg.mode = cfg.get('mode', g())\n    cfg.rest = cfg.get('rest', g())\n",
        "def f(cfg):\n    cfg.mode = g(cfg.get('mode', g()), 1)\n    cfg.rest = g(cfg.get('rest', g()), 2)\n",
        "@@ f @@\n-cfg.mode = cfg.get('mode', ...)\n+cfg.mode = g(cfg.get('mode', ...), 1)\n\n@@ f @@\n-cfg.rest = cfg.get('rest', ...)\n+cfg.rest = g(cfg.get('rest', ...), 2)\n",
    ),
    "a key of a call that another statement keeps stays": (
        "def f(cfg):\n    return cfg.get('mode', g())\n",
        "def f(cfg):\n    cfg.mode = cfg.get('mode', g())\n",
        "@@ f @@\n-return cfg.get('mode', ...)\n+cfg.mode = cfg.get('mode', ...)\n",
    ),
    "a key of a call that comes under a condition stays": (
        "def f(cfg):\n    cfg.setdefault('mode', g())\n    return cfg\n",
        "def f(cfg):\n    if cfg:\n        cfg.setdefault('mode', g())\n    return cfg\n",
        "@@ f @@\n def f(...):\n-    cfg.setdefault('mode', ...)\n+    if cfg:\n+        cfg.setdefault('mode', ...)\n     ...\n",
    ),
    "of overloads the parameters tell which one is meant, not what it returns": (
        "@o\ndef f(a: int) -> int: ...\n@o\ndef f(a: str) -> str: ...\ndef f(a: Any) -> Any:\n    return a\n",
        "@o\ndef f(a: int) -> int: ...\n@o\ndef f(a: str) -> str: ...\ndef f(a: Any, b: int = 1) -> Any:\n    return a\n",
        "@@ f @@\n-def f(a: Any):\n+def f(a: Any, b: int = 1):\n",
    ),
    "a branch of one of two equal statements has what stands beside that, and no body of another branch": (
        "def f(a):\n    if a:\n        a.one()\n    else:\n        a.two()\n    x = 1\n    if a:\n        a.one()\n    else:\n        a.two()\n    y = 1\n",
        "def f(a):\n    if a:\n        a.one()\n    elif f:\n        f(1)\n    else:\n        a.two()\n    x = 1\n"
        "    if a:\n        a.one()\n    else:\n        a.two()\n    y = 1\n",
        "@@ f @@\n if a:\n     ...\n+elif f:\n+    f(1)\n x = 1\n",
    ),
    "code that comes into an empty module": ("", "x = 1\n", "@@ <module> @@\n ...\n+x = 1\n"),
    "code that comes into a module of comments": ("# none\n", "# none\nx = 1\n", "@@ <module> @@\n ...\n+x = 1\n"),
    "a method is added below the header of the last one, or to the end of its class": (
        "class A:\n    def f(self, one: int) -> int:\n        return one\n",
        "class A:\n    def f(self, one: int) -> int:\n        return one\n\n    def g(self):\n        return 1\n",
        "@@ A @@\n def f(...):\n     ...\n+\n+def g(self):\n+    return 1\n"
        "@@ or @@\n class A:\n     ...\n+\n+    def g(self):\n+        return 1\n",
    ),
    "of two methods of one name the decorators tell which one it is below": (
        f"class A:\n{PROPERTY}",
        f"class A:\n{PROPERTY}\n    def g(self):\n        return 1\n",
        "@@ A @@\n @size.setter\n def size(...):\n     ...\n+\n+def g(self):\n+    return 1\n"
        "@@ or @@\n class A:\n     ...\n+\n+    def g(self):\n+        return 1\n",
    ),
    "without decorators all of it tells": (
        "class A:\n    if B:\n        def f(self):\n            return 1\n    else:\n        def f(self):\n            return 2\n",
        "class A:\n    if B:\n        def f(self):\n            return 1\n    else:\n        def f(self):\n            return 2\n        x = 1\n",
        "@@ A @@\n def f(self):\n     return 2\n+x = 1\n",
    ),
    "what is no method is not added to the end of the class": (
        "class A:\n    def f(self, one: int) -> int:\n        return one\n",
        "class A:\n    def f(self, one: int) -> int:\n        return one\n\n    h = f\n",
        "@@ A @@\n def f(...):\n     ...\n+\n+h = f\n",
    ),
    "a tuple that gets an element keeps the one beside it: `(...)` is an Ellipsis": (
        "x = {'one': ('a', ('b', 'c')), 'two': ()}\n",
        "x = {'one': ('a', ('z', 'b', 'c')), 'two': ()}\n",
        "@@ <module> @@\n-x = {'one': ('a', ('b', ...)), ...}\n+x = {'one': ('a', ('z', 'b', ...)), ...}\n",
    ),
    "at its end as well": (
        "x = f(('b', 'c'))\n",
        "x = f(('b', 'c', 'z'))\n",
        "@@ <module> @@\n-x = f((..., 'c'))\n+x = f((..., 'c', 'z'))\n",
    ),
    "nor is code that is wrapped below something new": (
        "def f(a):\n    if not a.ready:\n        a.start(a.path, *a.args)\n    return a\n",
        "def f(a):\n    if not a.ready:\n        old = a.version < 7\n        if old:\n            a.start(a.path, *a.args)\n        else:\n            a.start(a.path, *a.args, more=True)\n    return a\n",
        "@@ f @@ inside=if\n-a.start(a.path, *a.args)\n"
        "+old = a.version < 7\n+if old:\n+    a.start(a.path, *a.args)\n+else:\n+    a.start(a.path, *a.args, more=True)\n",
    ),
    "imports of a module that change are not in a block": (
        "import os\nfrom configparser import Parser\nimport re\n",
        "import os\nfrom demo.parser import Parser\nimport re\n",
        "@@ <module> @@ inside=scope\n-from configparser import ...\n+from demo.parser import ...\n",
    ),
    "code that is wrapped is not in a block of another kind": (
        "def f(path):\n    read(path)\n    with open(path) as file:\n        return parsed(file)\n",
        "def f(path):\n    read(path)\n    if path:\n        with open(path) as file:\n            return parsed(file)\n",
        "@@ f @@ inside=scope\n-with open(path) as file:\n-    return parsed(file)\n+if path:\n+    with open(path) as file:\n+        return parsed(file)\n"
        "@@ or @@ inside=scope\n-with open(path) as file:\n-    ...\n+if path:\n+    with open(path) as file:\n+        ...\n",
    ),
    "a loop that is wrapped may have another body": (
        "def f(self):\n    for token in self.tokens:\n        yield token.flat()\n",
        "def f(self):\n    try:\n        for token in self.tokens:\n            yield token.flat()\n    except OSError:\n        raise\n",
        "@@ f @@ inside=scope\n-for token in self.tokens:\n-    yield token.flat()\n"
        "+try:\n+    for token in self.tokens:\n+        yield token.flat()\n+except OSError:\n+    raise\n"
        "@@ or @@ inside=scope\n-for token in self.tokens:\n-    ...\n"
        "+try:\n+    for token in self.tokens:\n+        ...\n+except OSError:\n+    raise\n",
    ),
    "a loop whose header says little may not": (
        "def f(self):\n    for i in self:\n        yield i.flat()\n",
        "def f(self):\n    if self:\n        for i in self:\n            yield i.flat()\n",
        "@@ f @@\n def f(...):\n-    for i in self:\n-        yield i.flat()\n"
        "+    if self:\n+        for i in self:\n+            yield i.flat()\n",
    ),
    "of an `if` that is wrapped each branch may be another one": (
        "def f(self, one):\n    if self.ready is one:\n        one.start()\n    else:\n        one.stop()\n",
        "def f(self, one):\n    with one:\n        if self.ready is one:\n            one.start()\n        else:\n            one.stop()\n",
        "@@ f @@ inside=scope\n-if self.ready is one:\n-    one.start()\n-else:\n-    one.stop()\n"
        "+with one:\n+    if self.ready is one:\n+        one.start()\n+    else:\n+        one.stop()\n"
        "@@ or @@ inside=scope\n-if self.ready is one:\n-    ...BODY1\n-else:\n-    ...BODY2\n"
        "+with one:\n+    if self.ready is one:\n+        ...BODY1\n+    else:\n+        ...BODY2\n",
    ),
    "a call that becomes an operand may pass anything": (
        "def f(a, b):\n    a.run([b, a.command.format(port=b, info=b + 1)])\n",
        "def f(a, b):\n    a.run([b, 'env ' + a.command.format(port=b, info=b + 1) + ' -q'])\n",
        "@@ f @@\n-a.command.format(port=b, info=b + 1)\n+'env ' + a.command.format(port=b, info=b + 1) + ' -q'\n"
        "@@ or @@\n-a.command.format(...)\n+'env ' + a.command.format(...) + ' -q'\n",
    ),
    "a call that takes the place of another expression may pass anything": (
        "def f(a, b):\n    a.run([b, a.wrapped(a.command.format(port=b, info=b + 1))])\n",
        "def f(a, b):\n    a.run([b, a.formatted(port=b, info=b + 1)])\n",
        "@@ f @@\n-a.wrapped(a.command.format(port=b, info=b + 1))\n+a.formatted(port=b, info=b + 1)\n"
        "@@ or @@\n-a.wrapped(a.command.format(...))\n+a.formatted(...)\n",
    ),
    "with what it is assigned to": (
        "def f(a, torch):\n    a.first = torch.random(1, a.size, kind=a) * 2\n    a.second = torch.random(1, a.size, kind=a) * 2\n",
        "def f(a, torch):\n    a.first = torch.empty(1, a.size, kind=a)\n    a.second = torch.random(1, a.size, kind=a) * 2\n",
        "@@ f @@\n-a.first = torch.random(1, a.size, kind=a) * 2\n+a.first = torch.empty(1, a.size, kind=a)\n"
        "@@ or @@\n-a.first = torch.random(...) * 2\n+a.first = torch.empty(...)\n",
    ),
    "the keys that it passes stay": (
        "def f(a, b):\n    a.run([b, a.wrapped(a.command.format('name', b, info=b + 1))])\n",
        "def f(a, b):\n    a.run([b, a.formatted('name', b, info=b + 1)])\n",
        "@@ f @@\n-a.wrapped(a.command.format('name', b, info=b + 1))\n+a.formatted('name', b, info=b + 1)\n"
        "@@ or @@\n-a.wrapped(a.command.format('name', ...))\n+a.formatted('name', ...)\n",
    ),
    "a table that is written whole, as others have the same entry, may have others where its statement names it": (
        "ONE = make({'a': a.one, 'b': a.two, 'c': a.three})\nTWO = make({'a': a.one, 'b': a.two, 'd': a.four})\n",
        "ONE = make({'a': a.one, 'b': a.two, 'c': a.three})\nTWO = make({'a': a.one, 'b': a.six, 'd': a.four})\n",
        "@@ <module> @@\n-{'a': a.one, 'b': a.two, 'd': a.four}\n+{'a': a.one, 'b': a.six, 'd': a.four}\n"
        "@@ or @@\n-TWO = make({..., 'b': a.two, ...})\n+TWO = make({..., 'b': a.six, ...})\n",
    ),
    "an insertion above a call that it shares a name with is also above one that passes something else": (
        "def f(size, data, a):\n    if a:\n        a.load()\n    else:\n        data.transform = a.create(one=a, two=size)\n",
        "def f(size, data, a):\n    if a:\n        a.load()\n    else:\n        size = size or 16\n        data.transform = a.create(one=a, two=size)\n",
        "@@ f @@\n+size = size or 16\n data.transform = a.create(..., two=size)\n"
        "@@ or @@\n else:\n+    size = size or 16\n     ...\n",
    ),
    "an f-string in several literals of which some change": (
        "def f(a):\n    send(f'The shape of the' f' input(s)) ' f'{a} is wrong')\n",
        "def f(a):\n    send('The shape of the ' 'input(s) ' f'{a} is wrong')\n",
        "@@ f @@\n-f'The shape of the' f' input(s)) ' f'{a} is wrong'\n+'The shape of the ' 'input(s) ' f'{a} is wrong'\n",
    ),
    "a text of which words stay is not any text in another release": (
        'TEXT = "one two three"\n',
        'TEXT = "one two four"\n',
        '@@ <module> @@\n-TEXT = "one two three"\n+TEXT = "one two four"\n',
    ),
    "one of which none stays is": (
        'TEXT = "one two"\n',
        'TEXT = "three"\n',
        '@@ <module> @@\n-TEXT = "one two"\n+TEXT = "three"\n@@ or @@\n-TEXT = $string\n+TEXT = "three"\n',
    ),
    "an insertion below a loop is below its header, whatever of it shares a name with the new code": (
        "def f(self, doc, b):\n    for a in doc:\n        a.go()\n        self.run(b)\n",
        "def f(self, doc, b):\n    for a in doc:\n        a.go()\n        self.run(b)\n    b.end()\n",
        "@@ f @@ inside=scope\n for a in doc:\n     ...\n+b.end()\n",
    ),
    "an import below the docstring of a module does not have that as context": (
        '"""Doc.\n\nMore.\n"""\n\nimport a\nb = a\n',
        '"""Doc.\n\nMore.\n"""\n\nimport c.d\nimport a\nb = a\n',
        "@@ <module> @@\n+import c.d\n import a\n@@ or @@\n+import c.d\n ...\n",
    ),
    "nor does another statement, which is beside its neighbour": (
        '"""Doc."""\n\na = 1\n',
        '"""Doc."""\n\nb = 2\na = 1\n',
        "@@ <module> @@\n+b = 2\n a = 1\n",
    ),
    "statements that move are two hunks, of which the one that deletes them is between what stands there": (
        "def f(self, a):\n    self.check(a)\n    ready = False\n    keys = [key for key in a.keys()]\n    has = getattr(a, 'has', None) is not None\n"
        "    if hasattr(a, 'config'):\n        a = a.config(has, self.defaults)\n    self.end(a)\n    b = self.make(a, keys)\n    return ready, has, b\n",
        "def f(self, a):\n    self.check(a)\n    has = getattr(a, 'has', None) is not None\n"
        "    if hasattr(a, 'config'):\n        a = a.config(has, self.defaults)\n    self.end(a)\n    self.more(a)\n    ready = False\n    keys = [key for key in a.keys()]\n    b = self.make(a, keys)\n    return ready, has, b\n",
        "@@ f @@\n self.check(...)\n-ready = False\n-keys = [key for key in a.keys()]\n has = $V2\n\n"
        "@@ f @@\n+self.more(a)\n+ready = False\n+keys = [key for key in a.keys()]\n b = self.make(a, keys)\n"
        "@@ or @@\n self.end(a)\n+self.more(a)\n+ready = False\n+keys = [key for key in a.keys()]\n",
    ),
    "an import that goes needs no neighbour": (
        "import a\nimport old\nfrom b import c, d\n",
        "import a\nfrom b import c, d\n",
        "@@ <module> @@\n import a\n-import old\n from b import c, d\n@@ or @@ inside=scope\n-import old\n",
    ),
    "a definition that goes may have another body": (
        "def f(a: int) -> int:\n    return a\n\n\ndef g():\n    return 2\n\n\nx = 1\n",
        "def g():\n    return 2\n\n\nx = 1\n",
        "@@ <module> @@\n-def f(a: int) -> int:\n-    return a\n def g():\n     ...\n@@ or @@\n-def f(...) -> $_:\n-    ...\n",
    ),
    "a statement that goes may have other elements in a list, and another message": (
        "def f(path, log):\n    g(path)\n    if os.path.isfile(path) and os.name in ['nt', 'ce']:\n        log.warning('there is a file')\n    log.start(path)\n",
        "def f(path, log):\n    g(path)\n    log.start(path)\n",
        "@@ f @@\n g(...)\n-if os.path.isfile(path) and os.name in ['nt', 'ce']:\n-    log.warning('there is a file')\n log.start(...)\n"
        "@@ or @@ inside=scope\n-if os.path.isfile(path) and os.name in ['nt', 'ce']:\n-    log.warning('there is a file')\n"
        "@@ or @@ inside=scope\n-if os.path.isfile(path) and os.name in ['nt', ...]:\n-    log.warning($_)\n",
    ),
    "the targets of a loop are no list": (
        "def f(path, log):\n    g(path)\n    for key, value in path.names():\n        log.warning(key, 'there is a file', value, [*path, key])\n    log.start(path)\n",
        "def f(path, log):\n    g(path)\n    log.start(path)\n",
        "@@ f @@\n g(...)\n-for key, value in path.names():\n-    log.warning(key, 'there is a file', value, [*path, key])\n log.start(...)\n"
        "@@ or @@ inside=scope\n-for key, value in path.names():\n-    log.warning(key, 'there is a file', value, [*path, key])\n"
        "@@ or @@ inside=scope\n-for key, value in path.names():\n-    log.warning(key, $_, value, [*path, ...])\n",
    ),
    "one of which little else is known may not": (
        "def f(path, log):\n    g(path)\n    assert path, 'there is no file'\n    log.start(path)\n",
        "def f(path, log):\n    g(path)\n    log.start(path)\n",
        "@@ f @@\n g(...)\n-assert path, 'there is no file'\n log.start(...)\n@@ or @@\n-assert path, 'there is no file'\n log.start(...)\n",
    ),
    "a statement that is replaced may have another message, and another list may not": (
        "def f(path, log, ready, shutil, os):\n    for each in ['nt', 'ce']:\n        log.warning('%s is not there' % each, path)\n        os.unlink(path)\n",
        "def f(path, log, ready, shutil, os):\n    with ready(path):\n        shutil.copy(path, 'nowhere')\n",
        "@@ f @@ inside=scope\n-for each in ['nt', 'ce']:\n-    log.warning('%s is not there' % each, path)\n-    os.unlink(path)\n+with ready(path):\n+    shutil.copy(path, 'nowhere')\n"
        "@@ or @@ inside=scope\n-for each in ['nt', 'ce']:\n-    log.warning($_, path)\n-    os.unlink(path)\n+with ready(path):\n+    shutil.copy(path, 'nowhere')\n",
    ),
    "unless words of the message stay": (
        "def f(path, log, ready, shutil, os):\n    for each in ['nt', 'ce']:\n        log.warning('%s is not there' % each, path)\n        os.unlink(path)\n",
        "def f(path, log, ready, shutil, os):\n    with ready(path):\n        shutil.copy(path, 'it is nowhere')\n",
        "@@ f @@ inside=scope\n-for each in ['nt', 'ce']:\n-    log.warning('%s is not there' % each, path)\n-    os.unlink(path)\n+with ready(path):\n+    shutil.copy(path, 'it is nowhere')\n",
    ),
    "what is last in a block, below another block, may have something else above it": (
        "def f(a, gid):\n    if gid:\n        if a.groups:\n            a.start(gid)\n    a.end()\n",
        "def f(a, gid):\n    if gid:\n        if a.groups:\n            a.start(gid)\n        a.drop([])\n    a.end()\n",
        "@@ f @@\n if a.groups:\n     ...\n+a.drop([])\n@@ or @@\n if gid:\n     ...\n+    a.drop([])\n",
    ),
    "not what is assigned to a parameter, which a release may lack": (
        "def f(a, gid, date=None):\n    if gid:\n        if a.groups:\n            a.start(gid)\n    a.end(date)\n",
        "def f(a, gid, date=None):\n    if gid:\n        if a.groups:\n            a.start(gid)\n        date = a.groups[0]\n    a.end(date)\n",
        "@@ f @@\n def f(..., date=$_, ...):\n     if gid:\n         if a.groups:\n             ...\n+        date = a.groups[0]\n     ...\n",
    ),
    "not where the header says little": (
        "def f(a, gid):\n    while True:\n        if a.groups:\n            a.start(gid)\n    a.end()\n",
        "def f(a, gid):\n    while True:\n        if a.groups:\n            a.start(gid)\n        a.drop([])\n    a.end()\n",
        "@@ f @@\n if a.groups:\n     ...\n+a.drop([])\n",
    ),
    "a decorator that changed in one of its lists": (
        "@mark.each('name', [('a', 1), ('b', 2), ('c', 3), ('d', 4)])\ndef f(name):\n    return name\n",
        "@mark.each('name', [('a', 1), ('c', 3), ('d', 4)])\ndef f(name):\n    return name\n",
        "@@ f @@\n-@mark.each('name', [('a', 1), ('b', 2), ('c', 3), ('d', 4)])\n+@mark.each('name', [('a', 1), ('c', 3), ('d', 4)])\n def f(...):\n"
        "@@ or @@\n-@mark.each('name', [('a', 1), ('b', 2), ('c', 3), ...], ...)\n+@mark.each('name', [('a', 1), ('c', 3), ...], ...)\n def f(...):\n",
    ),
    "the version of a release is not any other in its place": (
        '__version__ = "1.2"\n',
        '__version__ = "1.3"\n',
        '@@ <module> @@\n-__version__ = "1.2"\n+__version__ = "1.3"\n',
    ),
    "an expression that becomes one with a comment above it, which has no place without a neighbour": (
        "def f(a):\n    check(a.errors(a.lib) == 0)\n    a.id = a.b\n",
        "def f(a):\n    # why\n    a.clear_errors()\n    a.id = a.b\n",
        "@@ f @@ inside=scope\n-check(a.errors(a.lib) == 0)\n+# why\n+a.clear_errors()\n a.id = $V\n@@ or @@\n-check(a.errors(a.lib) == 0)\n+a.clear_errors()\n",
    ),
    "a call that stays whole is the part that stays, whatever that is": (
        "def f(a, power):\n    size = max(power(a, 1), 1 if a.xpu.is_free() else 16)\n",
        "def f(a, power):\n    size = power(a, 1)\n",
        "@@ f @@\n-size = max(power(..., 1), 1 if a.xpu.is_free() else 16)\n+size = power(..., 1)\n"
        "@@ or @@\n-max($V, 1 if a.xpu.is_free() else 16)\n+$V\n",
    ),
    "one of which little is known may not": (
        "def f(a, b):\n    a.run([b, str(a.port, info=b + 1)])\n",
        "def f(a, b):\n    a.run([b, 'env ' + str(a.port, info=b + 1) + ' -q'])\n",
        "@@ f @@\n-[b, str(a.port, info=b + 1), ...]\n+[b, 'env ' + str(a.port, info=b + 1) + ' -q', ...]\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_differences_of_an_edit_make_its_code(name):
    before, after, _ = CASES[name]
    old, new = Tree(before.encode()).whole(), Tree(after.encode()).whole()
    made = Tree(apply_differences(old.text, differences(old, new)).encode()).whole()
    assert repr(made.root) == repr(new.root)


@pytest.mark.parametrize("name", CASES)
def test_an_edit_becomes_these_hunks(name):
    before, after, hunks = CASES[name]
    draft = generalise([FileEdit("p/m.py", before.encode(), after.encode())])
    assert draft.complete, draft
    assert draft.spatch() == f"--- p/m.py\n{hunks}"


def test_a_removed_keyword_needs_no_neighbour():
    before, after = b"f(a, one=1, two=2, three=3)\n", b"f(a, two=2, three=3)\n"
    draft = generalise([FileEdit("p/m.py", before, after)], [{"p/m.py": b"f(a, one=1, three=3)\n"}])
    assert draft.spatch() == "--- p/m.py\n@@ <module> @@\n-f(a, one=1, ...)\n+f(a, ...)\n"
