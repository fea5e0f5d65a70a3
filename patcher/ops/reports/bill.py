"""`report --cyclonedx`: what is applied, as `pedigree.patches` of distributions in a CycloneDX document. Changes nothing."""

from __future__ import annotations

import sys
import uuid
from base64 import b64encode
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any, Dict, List, NamedTuple, Tuple

import patcher
from patcher.author.export import PatchedFile, patch
from patcher.errors import SitepatchError
from patcher.facts import FileStatus
from patcher.model import Requested
from patcher.ops.place import Place
from patcher.store.meta import source_date
from patcher.store.retry import settled
from patcher.store.status import statuses
from patcher.store.store import Store
from patcher.survey.targets import stored_patchset
from patcher.target.interpreter import Environment
from patcher.text.release import normalized


class AppliedPatch(NamedTuple):
    """A patchset as it is applied to a distribution: `text` is a diff with a DEP-3 header, `bug` an address or ""."""

    patchset: str
    version: str
    summary: str
    bug: str
    text: bytes


class Component(NamedTuple):
    """A distribution as it was patched, and what is applied to it."""

    distribution: str
    version: str
    patches: Tuple[AppliedPatch, ...]


class Bill(NamedTuple):
    """All that is applied in an environment, in a fixed order; `notes` are about files that are left out."""

    env: Environment
    components: Tuple[Component, ...]
    notes: Tuple[str, ...]


def bill(place: Place) -> Bill:
    """What is applied.

    Raises:
        StoreError: a receipt, a pristine copy or a stored patchset is invalid.
    """
    env = place.environment()
    items = settled(env, lambda: statuses(env))
    found: Dict[Tuple[str, str], List[FileStatus]] = {}
    for item in (each for each in items if each.live):
        name = normalized(item.receipt.distribution or item.receipt.package)
        found.setdefault((name, item.receipt.version), []).append(item)
    components = [Component(*key, tuple(_patches(several))) for key, several in sorted(found.items())]
    gone = [f"{item.receipt.path}: {item.condition.value}; see sitepatch status" for item in items if not item.live]
    edited = [f"{item.receipt.path}: {item.meaning}" for item in items if item.live and item.meaning]
    return Bill(env, tuple(components), (*gone, *edited))


def _patches(items: List[FileStatus]) -> List[AppliedPatch]:
    files = [
        PatchedFile(one.path, one.distribution, one.version, Store(item.site).pristine(one.pristine), one.steps)
        for item in items
        for one in [item.receipt]
    ]
    steps = {step.digest: (item.site, step) for item in items for step in item.receipt.steps}
    made = []
    for site, step in steps.values():
        one = stored_patchset(site, step)
        text = patch(Requested(one, step.options), files)
        made.append(AppliedPatch(one.name, one.version, one.summary, one.provenance.get("bug", ""), text))
    return sorted(made)


def document(made: Bill) -> bytes:
    """The bill as CycloneDX 1.6 in JSON: the same bytes for the same patches; dated by SOURCE_DATE_EPOCH alone.

    Raises:
        SitepatchError: cyclonedx-python-lib is not installed.
    """
    try:
        from cyclonedx.model import bom, component, tool
        from cyclonedx.output.json import JsonV1Dot6
        from packageurl import PackageURL
    except ImportError as error:
        hint = f"install it: {sys.executable} -m pip install 'cyclonedx-python-lib>=9' (the extra sitepatch[sbom])"
        raise SitepatchError(f"a CycloneDX document needs cyclonedx-python-lib, 9 or newer ({error})", hint) from None

    when = source_date()
    mine = component.Component(name="sitepatch", version=patcher.__version__, type=component.ComponentType.APPLICATION)
    mine.bom_ref.value = f"sitepatch@{patcher.__version__}"
    about = bom.BomMetaData(tools=tool.ToolRepository(components=[mine]))
    about.timestamp = None if when is None else datetime.fromtimestamp(when, timezone.utc)
    parts = []
    for one in made.components:
        purl = PackageURL("pypi", None, one.distribution, one.version or None)
        patches = [_patch(each) for each in one.patches]
        part = component.Component(name=one.distribution, version=one.version or None, purl=purl, bom_ref=purl.to_string())
        names = ", ".join(f"{each.patchset} {each.version}" for each in one.patches)
        part.pedigree = component.Pedigree(patches=patches, notes=f"patched where it is installed, by sitepatch: {names}")
        parts.append(part)
    number = uuid.uuid5(uuid.NAMESPACE_URL, f"sitepatch:{sha256(repr(made.components).encode()).hexdigest()}")
    whole = bom.Bom(components=parts, metadata=about, serial_number=number)
    return f"{JsonV1Dot6(whole).output_as_string(indent=2)}\n".encode()


def _patch(one: AppliedPatch) -> Any:
    from cyclonedx.model import AttachedText, Encoding, XsUri, component, issue

    try:
        text = AttachedText(content=one.text.decode("utf-8"), content_type="text/x-patch")
    except UnicodeDecodeError:
        text = AttachedText(content=b64encode(one.text).decode(), content_type="text/x-patch", encoding=Encoding.BASE_64)
    defect = issue.IssueClassification.DEFECT
    bugs = [issue.IssueType(type=defect, description=one.summary, references=[XsUri(one.bug)])] if one.bug else []
    kind = component.PatchClassification.UNOFFICIAL
    return component.Patch(type=kind, diff=component.Diff(text=text), resolves=bugs)
