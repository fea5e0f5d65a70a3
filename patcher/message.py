"""Messages: sentences that keep what they are made of, so that they can be translated."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

_COMMAND_OPTIONS = {"env": "", "dirs": "", "here": ""}
"""Fields that every template may name, behind a command to run (see `set_command_options`)."""


def set_command_options(env: str, dirs: str) -> None:
    """Set what `sitepatch VERB NAME{env}{dirs}` in messages means; `{here}` is both.

    Args:
        env: the options that name the environment, as ` --python venv`, empty for none.
        dirs: those that name directories of patchsets.
    """
    _COMMAND_OPTIONS.update(env=env, dirs=dirs, here=env + dirs)


class Message(str):
    """A sentence in English: a template, as `nothing is applied in {site}`, and its fields.

    It is a text like any other; who shows it looks up the template in a catalogue. A field may be a
    message itself. Every other field stays as it is in all languages: a path, a name, code.
    """

    template: str
    fields: dict[str, Any]

    def __new__(cls, template: str, /, **fields: Any) -> Message:  # noqa: D102 - the docstring of the class documents it
        fields = {**_COMMAND_OPTIONS, **fields}
        message = super().__new__(cls, template.format(**fields))
        message.template, message.fields = template, fields
        return message

    @classmethod
    def whole(cls, content: object) -> Message:
        """A text that has no fields, such as what a patchset says about itself."""
        return cls(str(content).replace("{", "{{").replace("}", "}}"))

    @classmethod
    def of(cls, template: str, fields: Mapping[str, Any]) -> str:
        """A message or an empty text as it is; of any other text the message of that template."""
        if isinstance(template, Message) or not template:
            return template
        return cls(template, **fields) if fields else cls.whole(template)

    def __str__(self) -> str:
        return self

    def __add__(self, other: str) -> Message:
        return joined("", (self, other))

    def __radd__(self, other: str) -> Message:
        return joined("", (other, self))

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.template,), self.fields


def one_line(message: str) -> str:
    """The first line of a message."""
    if isinstance(message, Message):
        fields: dict[str, Any] = {}
        for name, field in message.fields.items():
            fields[name] = one_line(field) if isinstance(field, Message) else field
        message = Message(message.template.split("\n")[0], **fields)
    return message.split("\n")[0] if "\n" in message else message


def fields_called(message: str, name: str) -> list[Any]:
    """The fields of a name in a message and in those that it is made of, each once."""
    found: dict[Any, None] = {}
    if isinstance(message, Message):
        for key, field in message.fields.items():
            if key == name:
                found[field] = None
            else:
                found.update(dict.fromkeys(fields_called(field, name)))
    return list(found)


def joined(separator: str, parts: Iterable[str]) -> Message:
    """Several messages or other texts as one, with a separator between each two.

    Empty ones are left out.
    """
    fields = {f"part{number}": part for number, part in enumerate(filter(None, parts))}
    template = separator.join(f"{{{name}}}" for name in fields)
    return Message(template, **fields)
