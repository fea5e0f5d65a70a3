# Copyright: the sitepatch authors
# MIT License (see the LICENSE of sitepatch)
"""Makes a table of what hosts answered to the module patchset_info."""

from __future__ import annotations

DOCUMENTATION = r"""
name: table
short_description: A table of the patchsets that hosts have
version_added: 0.1.0
author: the sitepatch authors (@sitepatch)
description:
  - A line for hosts that are alike, with their state, their patchsets and the releases; below it what is wrong there.
  - A host without an answer is C(unknown); the reason stands below it.
positional: hosts
options:
  _input:
    description: What M(sitepatch.sitepatch.patchset_info) returned on each host.
    type: list
    elements: dict
    required: true
  hosts:
    description: The names of these hosts, in the same order.
    type: list
    elements: str
    required: true
seealso:
  - module: sitepatch.sitepatch.patchset_info
"""

EXAMPLES = r"""
- name: Ask what is applied
  sitepatch.sitepatch.patchset_info:
    python: /opt/train
  register: patchsets
  ignore_errors: true
  ignore_unreachable: true

- name: Show the table of hosts
  ansible.builtin.debug:
    msg: >-
      {{ ansible_play_hosts_all | map('extract', hostvars, 'patchsets')
      | sitepatch.sitepatch.table(ansible_play_hosts_all) }}
  run_once: true
"""

RETURN = r"""
_value:
  description: The lines of the table.
  type: list
  elements: str
"""


def table(results, hosts):
    """The lines of the table: what is alike stands in one line, in the order of the first host of each."""
    alike = {}
    for host, result in zip(hosts, results):
        alike.setdefault(_of_host(result), []).append(host)
    lines = []
    for (state, patchsets, releases, problems), names in alike.items():
        number = "1 host" if len(names) == 1 else f"{len(names)} hosts"
        cells = [state, f"{number}: {', '.join(names)}", ", ".join(patchsets), ", ".join(releases)]
        lines.append("  ".join(cell for cell in cells if cell))
        lines += [f"    {problem}" for problem in problems]
    return lines


def _of_host(result):
    """The worst state of a host, its patchsets, the releases that they are for, and what is wrong."""
    answer = result.get("answer") or {}
    error = answer.get("error")
    if error or "patchsets" not in answer:
        message = error["message"] if error else result.get("msg", "no answer")
        return "unknown", (), (), tuple(str(message).splitlines())
    patchsets, releases, states, problems = [], {}, [], []
    for key in ("interrupted", "damaged"):
        states += [key for _ in answer[key]]
        problems += [one["problem"] for one in answer[key]]
    for one in answer["patchsets"]:
        patchsets.append(" ".join([one["name"], one["version"], *_options(one["options"])]))
        releases.update(dict.fromkeys(one["releases"]))
        if one["state"] != "applied":
            states.append(one["state"])
            problems += [f"{one['name']}: {text}" for text in (*one["problems"], one["advice"]) if text]
    usual = "applied" if patchsets else "nothing"
    return states[0] if states else usual, tuple(patchsets), tuple(releases), tuple(problems)


def _options(options):
    return [f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in sorted(options.items())]


class FilterModule:
    """The filters of this file."""

    def filters(self):
        """By name."""
        return {"table": table}
