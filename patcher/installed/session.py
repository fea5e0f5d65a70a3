"""pip of the running interpreter, in this process: its session and its finder, told what the user has told pip and uv.

pip calls these parts of itself internal. They are the same from pip 22.0 to 26.3; a pip in which they are not is named.
"""

from __future__ import annotations

import io
import logging
import os
import re
import sys
import threading
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Type
from urllib.parse import quote

from patcher.errors import SitepatchError
from patcher.message import Message

_PYPI = "https://pypi.org/simple"
_OTHER_PIP = Message("expected pip 22.0 to 26.3: {executable} -m pip install --upgrade pip", executable=sys.executable)


class NoPip(SitepatchError):
    """There is no usable pip; nothing can be fetched at all."""


class _Log(logging.Handler):
    """What pip says, by thread, and nobody else hears."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: Dict[Optional[int], List[str]] = {}
        self._logger = logging.getLogger("pip")
        self._before = self._logger.level, self._logger.propagate
        self._logger.setLevel(logging.DEBUG)
        self._logger.propagate = False
        self._logger.addHandler(self)

    def close(self) -> None:
        self._logger.removeHandler(self)
        self._logger.level, self._logger.propagate = self._before
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread in self._lines:
            self._lines[record.thread].append(record.getMessage())

    @contextmanager
    def said(self) -> Iterator[List[str]]:
        """What this thread has pip say from now on."""
        lines = self._lines[threading.get_ident()] = []
        try:
            yield lines
        finally:
            del self._lines[threading.get_ident()]


class Session(NamedTuple):
    """What makes pip's finders, what sends its requests, the errors that it raises, what it says."""

    finder: Callable[[], Any]
    requests: Any
    errors: Tuple[Type[BaseException], ...]
    log: _Log


def start_session() -> Session:
    """What `pip download` would start with, from the user's settings.

    Raises:
        NoPip: pip is not there or too old.
        SitepatchError: it refuses its settings.
    """
    said = io.StringIO()
    try:
        errors = (import_module("pip._internal.exceptions").PipError, OSError, ValueError)
        with redirect_stdout(said), redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what pip says of its own parts is not the user's
            command = import_module("pip._internal.commands").create_command("download")
            options, _ = command.parse_args(["--no-cache-dir"])
            _add_uv(options, os.environ)
            session = command._build_session(options)
        session.auth._prompt_for_password = lambda netloc: (None, None, False)  # a keyring is asked, nobody at a terminal
        finder = partial(command._build_package_finder, options, session, ignore_requires_python=True)
        return Session(finder, session, errors, _Log())
    except SystemExit:
        lines = said.getvalue().strip().splitlines()
        raise SitepatchError(
            "pip refuses its settings: {line}", "see: pip config list", line=lines[-1] if lines else ""
        ) from None
    except ModuleNotFoundError as error:
        if error.name != "pip":
            raise NoPip(Message("this pip cannot fetch releases: {error}", error=error), _OTHER_PIP) from None
        template = "releases are fetched with pip: {executable} -m ensurepip, or in a uv environment: uv pip install pip"
        hint = Message(template, executable=sys.executable)
        raise NoPip(Message("{executable} has no pip", executable=sys.executable), hint) from None
    except (ImportError, AttributeError, TypeError) as error:
        raise NoPip(Message("this pip cannot fetch releases: {error}", error=error), _OTHER_PIP) from None


def _add_uv(options: Any, environ: Mapping[str, str]) -> None:
    """Add to pip's options what uv's variables say of indexes; uv's default index takes the place of PyPI."""
    default, *_ = [*_uv_indexes(environ, "UV_DEFAULT_INDEX"), *_uv_indexes(environ, "UV_INDEX_URL"), ""]
    if default and options.index_url == _PYPI:
        options.index_url, default = default, ""
    indexes = [*_uv_indexes(environ, "UV_INDEX"), *_uv_indexes(environ, "UV_EXTRA_INDEX_URL"), default]
    options.extra_index_urls = [*options.extra_index_urls, *filter(None, indexes)]
    options.find_links = [*options.find_links, *filter(None, environ.get("UV_FIND_LINKS", "").split(","))]
    options.trusted_hosts = [*options.trusted_hosts, *environ.get("UV_INSECURE_HOST", "").split()]
    options.client_cert = options.client_cert or environ.get("SSL_CLIENT_CERT")


def _uv_indexes(environ: Mapping[str, str], variable: str) -> Iterator[str]:
    """The URLs of `[NAME=]URL ...`, each with the credentials that uv has for its name."""
    for name, url in re.findall(r"(?:([\w.-]+)=)?(\S+)", environ.get(variable, "")):
        prefix = f"UV_INDEX_{re.sub('[^A-Z0-9]', '_', name.upper())}"
        user, password = (environ.get(f"{prefix}_{field}", "") for field in ("USERNAME", "PASSWORD"))
        scheme, _, place = url.partition("://")
        yield f"{scheme}://{quote(user, '')}:{quote(password, '')}@{place}" if name and (user or password) else url
