"""`list TEXT`: the patchsets, and the symptoms that no patchset cures, that a text is about."""

from __future__ import annotations

from typing import List, Sequence, Tuple

from patcher.diagnose.patterns import matches_pattern
from patcher.model import Patchset, Symptom


def search_patchsets(
    text: str, patchsets: Sequence[Patchset], general: Sequence[Symptom]
) -> Tuple[List[Patchset], List[Tuple[Symptom, str]]]:
    """What a text is about: an error message that a symptom's pattern matches, or words that are all in a description.

    Args:
        text: what was pasted or typed; upper and lower case are the same.
        patchsets: of which name, summary, prose and symptoms are looked at.
        general: symptoms that no patchset cures.

    Returns:
        the patchsets, and the symptoms that the text is about, each with the name of the patchset that cures it ("": none).
    """
    words = text.lower().split()

    def about(*texts: str) -> bool:
        whole = "\n".join(texts).lower()
        return all(word in whole for word in words)

    def shown(symptom: Symptom) -> bool:
        texts = symptom.name, *symptom.patterns, symptom.meaning, symptom.advice
        return any(matches_pattern(pattern, text) for pattern in symptom.patterns) or about(*texts)

    symptoms = [(symptom, one.name) for one in patchsets for symptom in one.symptoms if shown(symptom)]
    cured = {name for _, name in symptoms}
    found = [one for one in patchsets if one.name in cured or about(one.name, one.summary, one.prose)]
    return found, symptoms + [(symptom, "") for symptom in general if shown(symptom)]
