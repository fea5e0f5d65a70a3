"""The files of a further release, while patch after patch is imported."""

from __future__ import annotations

from typing import Mapping, Sequence

from patcher.author.diffs.apply import apply_hunks
from patcher.author.diffs.locate import FileMatch
from patcher.author.patched_texts import Release, with_patches
from patcher.message import Message
from patcher.model import FilePatch, OptionValue
from patcher.record import Record


class Attempt(Record):
    """The files of a release as patches make them.

    `problem` is why some cannot be applied, "" for none; `moved` are the files to which code moved.
    """

    texts: dict[str, bytes]
    problem: str
    moved: frozenset[str] = frozenset()


class ReleaseTexts:
    """A further release: its files after the patches so far.

    Attributes:
        release: the release.
        held: whether the series is for it, and all patches so far fit.
        texts: its files as the patches make them, by path.
        expected: its files as the diffs make them, as far as they can; b"" where one cannot.
    """

    def __init__(
        self,
        release: Release,
        options: Mapping[str, OptionValue],
        injected: Sequence[str] = (),
        *,
        held: bool = False,
    ) -> None:
        self.release, self.options, self.injected = release, options, injected
        self.held = held
        self.texts = dict(release.texts)
        self.expected: dict[str, bytes] = {}

    def attempt(self, patches: Sequence[FilePatch]) -> Attempt:
        """The files as further patches make them."""
        texts: dict[str, bytes] = {}
        for patch in patches:
            if patch.adds:
                texts.update(dict.fromkeys(patch.paths, b""))
        texts.update(self.texts)
        for patch in patches:
            for path in patch.places[1:]:
                if path not in texts and path in self.release.rest():
                    texts[path] = self.release.rest()[path]

        patched = with_patches(texts, patches, options=self.options, names=self.injected)
        problems: list[tuple[str, str]] = []
        for patch in patches:
            if not patch.deletes and not texts.keys() & set(patch.places):
                problems.append((patch.paths[0], Message("there is no such file")))
        problems += patched.problems
        if not problems:
            return Attempt(patched.texts, "", moved=patched.moved)
        path, problem = problems[0]
        text = Message(
            "{name} {version}: {path}: {problem}",
            name=self.release.located.distribution,
            version=self.release.located.version,
            path=path,
            problem=problem,
        )
        return Attempt(patched.texts, text)

    @property
    def known(self) -> dict[str, bytes]:
        """Its files as the diffs make them, without those to which a diff does not apply."""
        known: dict[str, bytes] = {}
        for path, text in self.expected.items():
            if text:
                known[path] = text
        return known

    def advance(self, attempt: Attempt, matches: Sequence[FileMatch]) -> None:
        """Go on with the files as an attempt has made them.

        Args:
            attempt: what the patches make.
            matches: the sections of the diffs that they were made of.
        """
        self.texts = attempt.texts
        self.held = self.held and not attempt.problem
        for match in matches:
            before = self.expected.get(match.path, self.release.texts.get(match.path, b""))
            result = apply_hunks(before, match.section.hunks)
            self.expected[match.path] = b"" if result.problems else result.after
        for path in attempt.moved:  # a diff says nothing about them
            self.expected[path] = b""
