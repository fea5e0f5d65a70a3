"""Requests and outcomes of the verbs that change an environment."""

# without `from __future__ import annotations`, as `patcher.model`
from pathlib import Path
from typing import List, NamedTuple, Optional, Tuple

from patcher.model import FilePlan, Plan, Requested
from patcher.ops.place import Place
from patcher.target.interpreter import Environment
from patcher.text.listed import Texts
from patcher.verify import IMPORT, Verified


class ApplyRequest(NamedTuple):
    """Apply these patchsets, all or none.

    `settings` are texts as `--set` takes them, `verify` is how to verify what was written, with `dry_run` nothing is written,
    with `force` files are taken as well that were edited by hand; the edited text is kept in the store.
    """

    place: Place
    names: Texts
    settings: Texts = ()
    verify: str = IMPORT
    dry_run: bool = False
    force: bool = False


class RestoreRequest(NamedTuple):
    """Restore what these patchsets changed, all that are applied without names; one that is known but not applied is no error.

    With `force` edits by hand are dropped instead of kept in the file, their text is kept in the store; with `dry_run`
    nothing is written.
    """

    place: Place
    names: Texts = ()
    force: bool = False
    dry_run: bool = False


class BackupRequest(NamedTuple):
    """Put files back from the backups beside them: those that `words` name, or are below, all that have one without any.

    A word is a path in a site directory, or as the caller sees it. With `dry_run` nothing is written.
    """

    place: Place
    words: Tuple[str, ...] = ()
    dry_run: bool = False


class VerifyRequest(NamedTuple):
    """Verify these patchsets, all that are applied without names."""

    place: Place
    names: Texts = ()
    verify: str = IMPORT


class Effect(NamedTuple):
    """What `sync` does: `word` (applied, updated, restored, forgotten), the patchset, the directory, in how many files."""

    word: str
    patchset: str
    site: str
    files: int


class Outcome(NamedTuple):
    """The outcome of `apply`, `sync`, `restore` or an overlay.

    `plan` is what was to be done, `written` whether it was. `patchsets` are the names that were meant; once
    written, those that are applied in what changed. `requested` are those patchsets with their options, `recovered` has a
    sentence for each interrupted run that was recovered first, `fresh` says that nothing was patched there before, `verified`
    is what came of verifying (None where nothing was verified), `place` has every directory of patchsets.

    Of `sync` alone: `effects`, and `restored`, the names that were not requested. Of `restore` alone: `idle` (names that are
    not applied), `damaged` (problem, what to do), `hooks` (those that will apply it again). Of an overlay alone: `overlay`,
    its folder, None where there is nothing to patch.
    """

    place: Place
    env: Environment
    plan: Plan
    patchsets: Tuple[str, ...]
    requested: Tuple[Requested, ...] = ()
    dry_run: bool = False
    recovered: Tuple[str, ...] = ()
    written: bool = False
    fresh: bool = False
    verified: Optional[Verified] = None
    effects: Tuple[Effect, ...] = ()
    restored: Tuple[str, ...] = ()
    idle: Tuple[str, ...] = ()
    damaged: Tuple[Tuple[str, str], ...] = ()
    hooks: Tuple[str, ...] = ()
    overlay: Optional[Path] = None

    @property
    def ok(self) -> bool:
        """Whether all is as requested."""
        return not (self.plan.failed or self.damaged or (self.verified and self.verified.failed))

    @property
    def changed(self) -> List[FilePlan]:
        """The files of the plan of which something changes: the text, or what is recorded about it."""
        return [file for file in self.plan.files if file.change]
