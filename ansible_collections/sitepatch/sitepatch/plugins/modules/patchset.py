#!/usr/bin/python
# Copyright: the sitepatch authors
# MIT License (see the LICENSE of sitepatch)
"""Applies and restores patchsets."""

from __future__ import annotations

DOCUMENTATION = r"""
module: patchset
short_description: Patch installed Python packages, and restore them exactly
description:
  - Runs C(sitepatch apply), C(sitepatch restore) or C(sitepatch sync) on the host.
  - All that is asked for is done, or nothing.
  - What is to be written is verified by the Python of the environment first; where that fails nothing is written.
version_added: 0.1.0
author:
  - the sitepatch authors (@sitepatch)
requirements:
  - sitepatch on the host, which needs Python 3.8 or newer
options:
  names:
    description:
      - The patchsets; C(NAME==VERSION) names the one version that will do, and another one that is found is an error.
      - With O(state=absent) and without names all that are applied are meant. With O(state=synced) the project names them.
    type: list
    elements: str
    default: []
    aliases: [name]
  state:
    description:
      - V(present) applies them, V(absent) restores the files that they changed.
      - V(synced) makes the environment what a project asks for, and restores what it does not ask for.
    type: str
    choices: [present, absent, synced]
    default: present
  options:
    description:
      - Values of options of the patchsets, by C(NAME.option); of a single patchset also by C(option).
      - Used with O(state=present) only.
    type: dict
    default: {}
  project:
    description: The directory of the C(pyproject.toml) that asks, on the host. Used with O(state=synced) only.
    type: path
  requirements:
    description: Requirements files that ask in comments, on the host. Used with O(state=synced) only.
    type: list
    elements: path
    default: []
  python:
    description: The Python, or the virtual environment, that is patched. By default that which sitepatch is installed in.
    type: path
  target:
    description: The directory of packages that is patched, as of C(pip install --target).
    type: path
  patch_dirs:
    description: Directories of patchsets on the host.
    type: list
    elements: path
    default: []
  verify:
    description: How to verify what is to be written. V(probe) also runs the probes of the patchsets.
    type: str
    choices: [import, compile, probe, none]
    default: import
  force:
    description: Whether files are taken that were edited by hand. The edited text is kept in the store.
    type: bool
    default: false
  sitepatch:
    description: The command. By default that beside O(python), beside the Python that runs the module, or on PATH.
    type: path
attributes:
  check_mode:
    description: Writes nothing. A change of what is recorded alone is not predicted.
    support: full
  diff_mode:
    description: Shows what the patchsets change in the files.
    support: full
notes:
  - A process that is running keeps the code that it has loaded.
seealso:
  - module: sitepatch.sitepatch.patchset_info
"""

EXAMPLES = r"""
- name: Apply a patchset
  sitepatch.sitepatch.patchset:
    name: mmengine-ddp-debug==4.1
    options:
      params: 10
    python: /opt/train

- name: Bring the environment in line with the project
  sitepatch.sitepatch.patchset:
    state: synced
    project: /srv/project
    python: /opt/train

- name: Restore every file
  sitepatch.sitepatch.patchset:
    state: absent
    python: /opt/train
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


def words(params):
    """The words of the command that does what the options ask for."""
    made = [*place(params), *(["--force"] if params["force"] else [])]
    if params["state"] == "absent":
        return ["restore", *made, "--", *params["names"]]
    made.append(f"--verify={params['verify']}")
    if params["state"] == "present":
        made += [f"--set={name}={_written(value)}" for name, value in params["options"].items()]
        return ["apply", *made, "--", *params["names"]]
    made += [f"--requirement={path}" for path in params["requirements"]]
    made += [f"--project={params['project']}"] if params["project"] else []
    return ["sync", *made]


def _written(value):
    return str(value).lower() if isinstance(value, bool) else value


def main():
    """Do it, or in check mode say what would be done."""
    spec = {
        "names": {"type": "list", "elements": "str", "default": [], "aliases": ["name"]},
        "state": {"type": "str", "choices": ["present", "absent", "synced"], "default": "present"},
        "options": {"type": "dict", "default": {}},
        "project": {"type": "path"},
        "requirements": {"type": "list", "elements": "path", "default": []},
        "verify": {"type": "str", "choices": ["import", "compile", "probe", "none"], "default": "import"},
        "force": {"type": "bool", "default": False},
        **PLACE,
    }
    module = AnsibleModule(spec, supports_check_mode=True, required_if=[("state", "present", ["names"])])
    command = words(module.params)
    result = {}
    if module.check_mode or module._diff:
        said = answer(module, [command[0], "--dry-run", *command[1:]])
        result = {"changed": any(one["changes"] for one in said.get("files", [])), "diff": {"prepared": said.get("diff", "")}}
    if not module.check_mode:
        said = answer(module, command)
        result["changed"] = said.get("written", False)
    wrong = problem(said)
    if wrong:
        module.fail_json(msg=wrong, answer=said, **result)
    module.exit_json(answer=said, **result)


if __name__ == "__main__":
    main()
