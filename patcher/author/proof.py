"""What hunks make of texts: of those that were edited, and of those of further releases."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence

from patcher.author.draft import Draft, FileEdit
from patcher.author.hunks.trial import same_code
from patcher.engine.engine import rewrite
from patcher.errors import Location, SitepatchError
from patcher.message import Message, joined, one_line
from patcher.model import Answer, FilePatch, HunkText, Located, OptionValue, Rewrite
from patcher.patchset.layers import rewrite_layers
from patcher.planner.plan import answer_of, reconciled
from patcher.text.listed import listed


class Release(NamedTuple):
    """A further release of a package: where its files are, and the texts of those that the patchset changes, by path.

    If one of those is missing, the texts of all Python files of the package.
    """

    located: Located
    texts: Mapping[str, bytes]


def by_package(files: Iterable[tuple[Located, str]]) -> dict[Located, set[str]]:
    """The packages of files, and which files of each.

    Raises:
        SitepatchError: the files of a package belong to several distributions, each with versions of its own.
    """
    packages: dict[Located, set[str]] = {}
    for located, path in files:
        packages.setdefault(located, set()).add(path)
    for package in {located.package for located in packages}:
        names = sorted({located.distribution for located in packages if located.package == package})
        if len(names) > 1:
            problem = Message(
                "what was changed in {package} belongs to several distributions: {names}",
                package=package,
                names=listed(names),
            )
            raise SitepatchError(problem, "make a patchset for each of them")
    return packages


def with_patches(
    texts: Mapping[str, bytes],
    patches: Sequence[FilePatch],
    options: Mapping[str, OptionValue] = {},
    names: Sequence[str] = (),
) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    """Texts by path with the hunks of patches, each as those before it make them.

    Args:
        texts: the files, which the patches may name.
        patches: the patches.
        options: the values of the patchset's options.
        names: those that are injected at run time.

    Returns:
        the texts, and the path of each in which hunks cannot be applied, with the reasons.
    """

    def made(data: bytes, layer: tuple[HunkText, ...]) -> Rewrite:
        return rewrite(data, layer, options, names)

    results: dict[str, bytes] = {}
    answers: list[Answer] = []
    for path, text in texts.items():
        hunks = [hunk for patch in patches if path in patch.paths for hunk in patch.hunks]
        result = rewrite_layers(text, hunks, made)
        results[path] = result.data
        answers += [answer_of("", path, answer) for answer in result.answers]
    problems: dict[str, list[str]] = {}
    for answer in reconciled(answers):  # of all files together: format rules 24 and 25
        if answer.state.failed:
            problems.setdefault(answer.path, []).append(one_line(answer.problem))
    return results, [(path, joined("; ", reasons)) for path, reasons in problems.items()]


def check_edit(edit: FileEdit, draft: Draft, patches: Sequence[FilePatch]) -> None:
    """Check that patches make the edited file, or the same code, without what the draft leaves out.

    Raises:
        SitepatchError: they make something else.
    """
    results, problems = with_patches({edit.path: edit.before}, patches)
    result, problem = results[edit.path], joined("; ", (reason for _, reason in problems))
    (file,) = (file for file in draft.files if file.paths[0] == edit.path)
    if problem or not (
        file.left_out or result == edit.after or same_code(result, edit.after, anywhere=True)
    ):
        reason = problem or Message("other code comes of them")
        text = Message("the hunks do not make the edited file: {reason}", reason=reason)
        raise SitepatchError.at(
            Location(edit.path), text, "write the patchset by hand: see docs/howto/change.md"
        )
