"""What several commands show of patchsets: ranges of releases, those that cannot be read, what symptoms mean. Pure."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping

from patcher.cli.styles import Row, hint_lines
from patcher.cli.translation import Verbatim, translated
from patcher.diagnose.tools import with_tools
from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.model import Symptom, Variant


def release_range(variant: Variant) -> str:
    """The package of a variant and the releases that it is for: `mmengine >=0.1,<1`."""
    return f"{variant.package} {variant.versions or '(any version)'}"


def release_ranges(variants: Iterable[Variant]) -> str:
    """Those of several variants."""
    return ", ".join(map(release_range, variants))


def broken_rows(broken: Mapping[str, SitepatchError]) -> List[Row]:
    """One row for each patchset that is wrong in itself, with what is wrong."""
    return [Row("broken", (name,), (error.brief,)) for name, error in broken.items()]


def broken_json(broken: Mapping[str, SitepatchError]) -> List[Dict[str, Any]]:
    """The patchsets that are wrong in themselves, as JSON."""
    return [{"name": name, "problem": error.message, **error.place} for name, error in broken.items()]


def symptom_details(symptom: Symptom, cure: str = "", devices: Iterable[str] = ()) -> List[str]:
    """The lines below a symptom: what it means, what cures it, and what helps; with the tools of these kinds of devices."""
    hints = hint_lines(symptom.advice)
    if "{smi}" in symptom.advice:
        hints = [Verbatim(with_tools(translated(line), devices)) for line in hints]
    return [Message("it means: {meaning}", meaning=symptom.meaning), *([cure] if cure else []), *hints]
