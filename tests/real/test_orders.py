"""Built-in patchsets on the real files, each before and after each other one: one set of bytes, and pristine after every restore."""

import pytest
from conftest import TARGETS, fingerprint
from test_torch import BEFORE_VENDOR_BRANCH, VENDOR_BRANCH
from wheels import slow

pytestmark = pytest.mark.real
NAMES = ["mmengine-ddp-debug", "torch-dynamo-suppress", "torch-musa-guard", "torch-dynamo-disable", "mmengine-ddp-device"]
ORDERS = [NAMES, NAMES[::-1], NAMES[2:] + NAMES[:2]]


@slow
def test_the_order_of_applying_and_of_restoring_does_not_matter(environment):
    """The vendor's branch is put in by the test, so that torch-musa-guard has something to change."""
    environment.replace_text(
        "torch/multiprocessing/reductions.py", BEFORE_VENDOR_BRANCH, VENDOR_BRANCH + BEFORE_VENDOR_BRANCH
    )
    pristine = {package: fingerprint(environment.site, package) for package in TARGETS}
    seen = []
    for order in ORDERS:
        for name in order:
            applied = environment.sitepatch("apply", name, "--verify", "compile")  # eighteen imports of torch prove nothing more
            assert applied.code == 0, applied
        made = {path: (environment.site / path).read_bytes() for paths in TARGETS.values() for path in paths}
        if made not in seen:
            seen.append(made)
        for name in order[1:] + order[:1]:
            restored = environment.sitepatch("restore", name)
            assert restored.code == 0, restored
        assert {package: fingerprint(environment.site, package) for package in TARGETS} == pristine
        assert not (environment.site / ".sitepatch").exists()
    assert len(seen) == 1
