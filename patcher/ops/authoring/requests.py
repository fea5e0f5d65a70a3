"""The requests of the verbs that write patchsets; imports little, as commands are declared with them."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from patcher.ops.place import Place


class CaptureRequest(NamedTuple):
    """Make a patchset of edits.

    `words` are packages, distributions or files, all that is installed without any. `output` is as `output_folder` takes it.
    `pristine` is a file, a wheel or a directory that has the text of before, "" to find it. `copy` is a directory with edited
    copies of installed files, "" where the installed files themselves were edited. With `partial` a patchset is made also
    where parts of the edit cannot be put into it. `summary` is that of the patchset, "" for one that names the files.
    `also` are releases (`1.2`, `NAME==1.2`) and directories of packages that it should hold for as well.
    With `adopt` a patchset of that name that stands already is taken as it is, to be put in the place of the edits.
    """

    place: Place
    name: str
    words: Tuple[str, ...] = ()
    output: Optional[str] = None
    pristine: str = ""
    copy: str = ""
    partial: bool = False
    summary: str = ""
    also: Tuple[str, ...] = ()
    adopt: bool = False


class EditRequest(NamedTuple):
    """Copy the Python files of an import package, or that one of its files, to be edited."""

    place: Place
    package: str
    file: str = ""


class ImportRequest(NamedTuple):
    """Which diff becomes which patchset.

    `patch` is a file, a quilt `series` or a directory that has one; with `data` (standard input) only its name. `also` are
    releases (`1.2`, `NAME==1.2`) and directories of packages that the hunks should hold for as well. With `partial` what is
    no code of an installed Python file is left out; `fuzz` is how many lines of context may differ.
    """

    place: Place
    patch: str
    name: str
    data: Optional[bytes] = None
    output: Optional[str] = None
    also: Tuple[str, ...] = ()
    partial: bool = False
    fuzz: int = 0


class ExportRequest(NamedTuple):
    """Which patchsets are exported for which environment, and as what; `output` is a folder for a series and for wheels.

    `wheels` are those of the releases as they are installed; without the one that is needed pip fetches it.
    """

    place: Place
    names: Tuple[str, ...]
    format: str
    settings: Tuple[str, ...] = ()
    output: str = ""
    wheels: Tuple[str, ...] = ()


class UpdateRequest(NamedTuple):
    """Make a patchset hold for further releases.

    `to` are versions, ranges and `all`; without any it is the release that is installed. `edited` is a directory with edited
    copies (`copies`) of the files of the one release that it does not fit, "" to make no variant.
    """

    place: Place
    name: str
    to: Tuple[str, ...] = ()
    edited: str = ""


class NewRequest(NamedTuple):
    """Make a patchset `name` for a package, or for a file of one; `output` is as `output_folder` takes it."""

    place: Place
    name: str
    package: str
    output: Optional[str] = None


class LintRequest(NamedTuple):
    """Look at these patchsets, at all that can be named without names; with `strict` advice counts as an error."""

    place: Place
    names: Tuple[str, ...] = ()
    strict: bool = False


class CasesRequest(NamedTuple):
    """Try the cases of these patchsets, of all that can be named without names."""

    place: Place
    names: Tuple[str, ...] = ()
