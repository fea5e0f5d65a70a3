"""What stands in an environment: every receipt, held against the file on disk. Reads only, and needs no syntax tree."""

from __future__ import annotations

import os
from enum import Enum
from hashlib import sha256
from typing import TYPE_CHECKING, List, NamedTuple, Optional, Tuple

from patcher.model import Receipt
from patcher.store import Store

if TYPE_CHECKING:
    from patcher.interpreter import Environment


class Condition(str, Enum):
    """How a file relates to its receipt."""

    APPLIED = "applied"
    OVERWRITTEN = "overwritten"
    EDITED = "edited by hand"
    MISSING = "missing"


class Standing(NamedTuple):
    """One receipt and what has become of its file. `data` are the bytes on disk, empty where it is missing."""

    site: str
    receipt: Receipt
    condition: Condition
    data: bytes


def standing(env: Environment) -> List[Standing]:
    """Every file of the environment's own directories that has a receipt, in a fixed order.

    Raises:
        StoreError: a receipt cannot be believed.
    """
    found: List[Standing] = []
    for site in env.stores:
        if os.path.lexists(os.path.join(site, ".sitepatch")):
            for path, receipt in sorted(Store(site).receipts().items()):
                found.append(judge(site, receipt, read(site, path)))
    return found


def interrupted(env: Environment) -> List[Tuple[str, str]]:
    """(site directory, sentence) for each interrupted run that waits to be undone or finished; changes nothing."""
    stores = [site for site in env.stores if os.path.lexists(os.path.join(site, ".sitepatch"))]
    found = ((site, Store(site).interrupted()) for site in stores)
    return [(site, sentence) for site, sentence in found if sentence]


def judge(site: str, receipt: Receipt, data: Optional[bytes]) -> Standing:
    """Hold a receipt against the bytes of its file (None where there is no such file)."""
    if data is None:
        return Standing(site, receipt, Condition.MISSING, b"")
    digest = sha256(data).hexdigest()
    if digest == receipt.current:
        condition = Condition.APPLIED
    elif digest == receipt.pristine or digest == _recorded(site, receipt.path):
        condition = Condition.OVERWRITTEN
    else:
        condition = Condition.EDITED
    return Standing(site, receipt, condition, data)


def read(site: str, path: str) -> Optional[bytes]:
    """The bytes of a target file, None where there is no file."""
    try:
        with open(os.path.join(site, path), "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _recorded(site: str, path: str) -> Optional[str]:
    """The sha256 that any distribution of the site directory records for a file."""
    from pathlib import Path

    from patcher.distribution import recorded_hash
    from patcher.model import Located

    package = path.split("/", 1)[0]
    for folder in sorted(Path(site).glob("*.dist-info")):
        digest = recorded_hash(Located(package, site, "", "", str(folder)), path)
        if digest:
            return digest
    return None
