#!/usr/bin/python
# Copyright: the sitepatch authors
# MIT License (see the LICENSE of sitepatch)
"""Tells which patchsets are applied."""

from __future__ import annotations

DOCUMENTATION = r"""
module: patchset_info
short_description: Tell which patchsets are applied, and the state of their files
description:
  - Runs C(sitepatch status) on the host.
  - The filter P(sitepatch.sitepatch.table#filter) makes a table of what several hosts answered.
version_added: 0.1.0
author:
  - the sitepatch authors (@sitepatch)
requirements:
  - sitepatch on the host, which needs Python 3.8 or newer
options:
  python:
    description: The Python, or the virtual environment. By default that which sitepatch is installed in.
    type: path
  target:
    description: The directory of packages, as of C(pip install --target).
    type: path
  patch_dirs:
    description: Directories of patchsets on the host.
    type: list
    elements: path
    default: []
  sitepatch:
    description: The command. By default that beside O(python), beside the Python that runs the module, or on PATH.
    type: path
attributes:
  check_mode:
    description: Changes nothing.
    support: full
seealso:
  - module: sitepatch.sitepatch.patchset
  - plugin: sitepatch.sitepatch.table
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Ask what is applied
  sitepatch.sitepatch.patchset_info:
    python: /opt/train
  register: patched
"""

RETURN = r"""
answer:
  description: What sitepatch answered, as with C(--json).
  returned: always
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.sitepatch.sitepatch.plugins.module_utils.command import (
    PLACE,
    answer,
    place,
    problem,
)


def main():
    """Ask, and fail where there is no answer to it."""
    module = AnsibleModule(PLACE, supports_check_mode=True)
    said = answer(module, ["status", *place(module.params)])
    if not said["ok"]:
        module.fail_json(msg=problem(said), answer=said)
    module.exit_json(changed=False, answer=said)


if __name__ == "__main__":
    main()
