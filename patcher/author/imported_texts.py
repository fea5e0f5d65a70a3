"""The installed files that patches change, as the hunks make them.

The diffs that the hunks were made of may make other texts: these differ in comments and layout.
"""

from __future__ import annotations

from typing import Mapping, Optional, Sequence, Tuple

from patcher.author.changed import home_of
from patcher.author.diffs.locate import InstalledSources
from patcher.author.patched_texts import by_package, with_patches
from patcher.author.same_code import same_code
from patcher.author.spatch_draft import Draft
from patcher.message import Message
from patcher.model import SOURCE, FilePatch, Located, OptionValue
from patcher.record import Record
from patcher.text.diffs import FileDiff, diff_texts

_Files = Mapping[str, Tuple[Located, bytes]]
"""The package and the text of files, by path."""
_Patched = Mapping[str, Tuple[Located, Optional[bytes]]]
"""The same; the text is None for one that was deleted."""


class Snapshot(Record):
    """How the files were at one moment, as `ImportedTexts` has them and as the diffs make them."""

    patched: _Patched
    pristine: _Files
    current: Mapping[str, bytes]
    partial: frozenset[str]
    deleted: frozenset[str]


class ImportedTexts:
    """The files that are looked at.

    Attributes:
        pristine: the package and the pristine text of each, by path.
        current: the files as the hunks make them, by path.
        deleted: those that the hunks delete.
    """

    def __init__(
        self,
        sources: InstalledSources,
        options: Mapping[str, OptionValue],
        injected: Sequence[str] = (),
    ) -> None:
        self.sources, self.options, self.injected = sources, options, injected
        self.pristine: dict[str, tuple[Located, bytes]] = {}
        self.current: dict[str, bytes] = {}
        self.deleted: set[str] = set()
        self._partial: set[str] = set()  # files of which a part was left out

    @property
    def changed(self) -> list[str]:
        """The files that the hunks change."""
        changed: list[str] = []
        for path, (_, text) in self.pristine.items():
            if self.current[path] != text or path in self.deleted:
                changed.append(path)
        return changed

    @property
    def homes(self) -> list[Located]:
        """The packages that are changed."""
        return list(by_package((self.pristine[path][0], path) for path in self.changed))

    def diffs(self, name: str) -> tuple[FileDiff, ...]:
        """What a patchset of that name makes of the files."""
        diffs: list[FileDiff] = []
        for path in sorted(self.changed):
            _, before = self.pristine[path]
            after = None if path in self.deleted else self.current[path]
            diffs.append(diff_texts("", path, before=before, after=after, patchsets=[name]))
        return tuple(diffs)

    def snapshot(self) -> Snapshot:
        """The files as they are now."""
        return Snapshot(
            patched=dict(self.sources.texts.patched),
            pristine=dict(self.pristine),
            current=dict(self.current),
            partial=frozenset(self._partial),
            deleted=frozenset(self.deleted),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to the files as they were."""
        self.sources.texts.patched = dict(snapshot.patched)
        self.pristine = dict(snapshot.pristine)
        self.current = dict(snapshot.current)
        self._partial = set(snapshot.partial)
        self.deleted = set(snapshot.deleted)

    def apply(self, patches: Sequence[FilePatch]) -> str:
        """Apply hunks to the files as the hunks before have made them.

        Returns:
            why they cannot be applied, "" where they can.
        """
        texts: dict[str, bytes] = {}
        for patch in patches:
            for path in patch.places:
                shipped = None
                if path not in self.pristine:
                    shipped = self._shipped(path, adds=patch.adds)
                if shipped:
                    self.pristine[path] = shipped
                    self.current[path] = shipped[1]
            path = next((path for path in patch.places if path in self.pristine), "")
            if not path:
                return Message("{paths}: no installed file", paths=patch.paths[0])
            texts[path] = self.current[path]

        patched = with_patches(texts, patches, options=self.options, names=self.injected)
        for path, problem in patched.problems:
            return Message("{path}: {problem}", path=path, problem=problem)
        self.current.update(patched.texts)
        self.deleted.update(patched.gone)
        return ""

    def _shipped(self, path: str, *, adds: bool) -> tuple[Located, bytes] | None:
        """The package of a file, and its text without the patches of the series.

        A file that a patch adds has none.
        """
        texts = self.sources.texts
        if adds:
            added = texts.patched.get(path)
            return added[0] if added else home_of(self.sources.env, path), b""
        patched, texts.patched = texts.patched, {}
        try:
            return self.sources.text(path)
        finally:
            texts.patched = patched

    def differing(self, draft: Draft, after: Mapping[str, bytes]) -> str:
        """Why the hunks do not make the code that the diffs make, "" where they do.

        Args:
            draft: the hunks.
            after: the texts that the diffs make, by path.
        """
        self._partial.update(file.paths[0] for file in draft.files if file.left_out)
        for path, text in after.items():
            if path not in self.current or path in self._partial:
                continue
            is_text = not path.endswith(SOURCE)
            if is_text and self.current[path] == text + b"\n":  # its last line ends now
                continue
            if not same_code(self.current[path], text, anywhere=True):
                problem = "{path}: the hunks do not make the edited file: other code comes of them"
                return Message(problem, path=path)
        return ""
