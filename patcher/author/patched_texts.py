"""What hunks make of texts: of those that were edited, and of those of further releases."""

from __future__ import annotations

from typing import Callable, Iterable, Mapping, Sequence

from patcher.author.same_code import same_code
from patcher.author.spatch_draft import Draft, FileEdit
from patcher.engine.engine import rewrite
from patcher.errors import Location, SitepatchError
from patcher.message import Message, joined, one_line
from patcher.model import Answer, FilePatch, HunkText, Located, OptionValue, Rewrite
from patcher.patchset.layers import rewrite_layers
from patcher.planner.reconcile import reconciled
from patcher.record import Record
from patcher.text.listed import listed


class Release(Record):
    """A further release of a package.

    Attributes:
        located: where its files are.
        texts: those that the patchset changes, by path.
        rest: reads the other Python files of the package, to which code may have moved.
    """

    located: Located
    texts: Mapping[str, bytes]
    rest: Callable[[], Mapping[str, bytes]] = dict


def by_package(files: Iterable[tuple[Located, str]]) -> dict[Located, set[str]]:
    """The packages of files, and which files of each.

    Raises:
        SitepatchError: the files of a package belong to several distributions, each with versions
            of its own.
    """
    packages: dict[Located, set[str]] = {}
    distributions: dict[str, set[str]] = {}
    for located, path in files:
        packages.setdefault(located, set()).add(path)
        distributions.setdefault(located.package, set()).add(located.distribution)
    for package, names in distributions.items():
        if len(names) > 1:
            problem = Message(
                "what was changed in {package} belongs to several distributions: {names}",
                package=package,
                names=listed(sorted(names)),
            )
            raise SitepatchError(problem, "make a patchset for each of them")
    return packages


class PatchedTexts(Record):
    """What patches make of texts.

    Attributes:
        texts: the texts by path.
        problems: each file in which hunks cannot be applied, with the reasons.
        gone: the files that are deleted; their text is b"".
        moved: the files to which code moved that hunks change.
    """

    texts: dict[str, bytes]
    problems: list[tuple[str, str]]
    gone: tuple[str, ...] = ()
    moved: frozenset[str] = frozenset()


def with_patches(
    texts: Mapping[str, bytes],
    patches: Sequence[FilePatch],
    options: Mapping[str, OptionValue] = {},
    names: Sequence[str] = (),
) -> PatchedTexts:
    """Texts by path with the hunks of patches, each as those before it make them.

    Args:
        texts: the files, which the patches may name.
        patches: the patches.
        options: the values of the patchset's options.
        names: those that are injected at run time.
    """

    def rewrite_layer(data: bytes, layer: tuple[HunkText, ...]) -> Rewrite:
        return rewrite(data, layer, options, names)

    results: dict[str, bytes] = {}
    answers: list[Answer] = []
    gone: list[str] = []
    hunks_of: dict[str, list[HunkText]] = {}
    moved: set[str] = set()
    for patch in patches:
        path = _path_with_code(texts, patch, rewrite=rewrite_layer)
        hunks_of.setdefault(path, []).extend(patch.hunks)
        if path != patch.paths[0]:
            moved.add(path)

    for path, text in texts.items():
        rewritten = rewrite_layers(text, hunks_of.get(path, []), rewrite=rewrite_layer)
        results[path] = rewritten.data
        if rewritten.gone:
            gone.append(path)
        answers += [Answer("", path, answer) for answer in rewritten.answers]

    reasons: dict[str, list[str]] = {}
    for answer in reconciled(answers):  # of all files together: format rules 25 and 26
        if answer.state.failed:
            reasons.setdefault(answer.path, []).append(one_line(answer.problem))
    problems: list[tuple[str, str]] = []
    for path, why in reasons.items():
        problems.append((path, joined("; ", why)))
    return PatchedTexts(results, problems, gone=tuple(gone), moved=frozenset(moved))


def _path_with_code(
    texts: Mapping[str, bytes],
    patch: FilePatch,
    rewrite: Callable[[bytes, tuple[HunkText, ...]], Rewrite],
) -> str:
    """The one of the places of a file that has the code, else the first that is there.

    It is "" where none is there.
    """
    existing = [path for path in patch.places if path in texts]
    if len(existing) > 1:
        for path in existing:
            if rewrite(texts[path], patch.hunks).finds_code:
                return path
    return existing[0] if existing else ""


def check_edit(edit: FileEdit, draft: Draft, patches: Sequence[FilePatch]) -> None:
    """Check that patches make the edited file, or the same code, without what the draft leaves out.

    Raises:
        SitepatchError: they make something else.
    """
    patched = with_patches({edit.path: edit.before}, patches)
    result = patched.texts[edit.path]
    reason = joined("; ", (reason for _, reason in patched.problems))
    if not reason:
        (file,) = (file for file in draft.files if file.paths[0] == edit.path)
        if file.left_out or same_code(result, edit.after, anywhere=True):
            return
        reason = Message("other code comes of them")
    problem = Message("the hunks do not make the edited file: {reason}", reason=reason)
    hint = Message("write the patchset by hand: see docs/howto/change.md")
    raise SitepatchError.at(Location(edit.path), problem, hint)
