"""Built-in patchsets on the real files, each before and after each other one: one set of bytes, and pristine after every restore."""

import pytest
from conftest import TARGETS, fingerprint
from wheels import slow

pytestmark = pytest.mark.real
NAMES = ["mmengine-ddp-debug", "torch-dynamo-suppress", "torch-musa-guard", "torch-dynamo-disable", "mmengine-ddp-device"]
ORDERS = [NAMES, NAMES[::-1], NAMES[2:] + NAMES[:2]]


@slow
def test_the_order_of_applying_and_of_restoring_does_not_matter(environment):
    """The vendor's branch is there, so that torch-musa-guard has something to change."""
    environment.add_vendors_branch()
    targets = [path for paths in TARGETS.values() for path in paths]
    pristine = {package: fingerprint(environment.site, package) for package in TARGETS}
    results = []
    for order in ORDERS:
        for name in order:
            applied = environment.sitepatch("apply", name, "--verify", "compile")  # eighteen imports of torch prove nothing more
            assert applied.code == 0, applied
        results.append({path: (environment.site / path).read_bytes() for path in targets})
        for name in order[1:] + order[:1]:
            restored = environment.sitepatch("restore", name)
            assert restored.code == 0, restored
        assert {package: fingerprint(environment.site, package) for package in TARGETS} == pristine
        assert not (environment.site / ".sitepatch").exists()
    for result in results[1:]:
        assert result == results[0]
