"""Parses a request and builds its prompt.

The prompts are the text files in `prompts/`, one per action, with a `[system]` and a `[user]` part.
The caller's text is between random markers, so that it can't end its quotation and continue as an
instruction.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import msgspec

from masthead.base.errors import BadRequest

MAX_CHARACTERS = {"prompt": 8_000, "selection": 32_000, "language": 100}
REQUIRED = {
    "generate": ("prompt",),
    "rewrite": ("selection",),
    "translate": ("selection", "language"),
    "summarize": ("selection",),
}

_FOLDER = Path(__file__).with_name("prompts")


class PromptRequest(msgspec.Struct, frozen=True):
    """The action and its texts."""

    action: str
    texts: Mapping[str, str]


class Prompt(msgspec.Struct, frozen=True):
    system: str
    user: str

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.system.encode()) + len(self.user.encode())


def parse_prompt_request(body: Mapping[str, Any]) -> PromptRequest:
    action = body.get("action")
    if not isinstance(action, str) or action not in REQUIRED:
        raise BadRequest(f"`action` must be one of {', '.join(REQUIRED)}.")
    return PromptRequest(action, {name: _text(body, action, name) for name in REQUIRED[action]})


def prompt_for(request: PromptRequest) -> Prompt:
    system, user = _templates(request.action)
    values = {**request.texts, "marker": secrets.token_hex(8)}
    return Prompt(system.substitute(values), user.substitute(values))


def _text(body: Mapping[str, Any], action: str, name: str) -> str:
    value = body.get(name)
    if value is None:
        raise BadRequest(f"`{name}` is required when action is {action}.")
    if not isinstance(value, str):
        raise BadRequest(f"`{name}` must be a text.")
    if not value.strip():
        raise BadRequest(f"`{name}` must not be empty.")
    if len(value) > MAX_CHARACTERS[name]:
        raise BadRequest(f"`{name}` may have at most {MAX_CHARACTERS[name]:,} characters.")
    return value


@cache
def _templates(action: str) -> tuple[Template, Template]:
    system, _, user = (_FOLDER / f"{action}.txt").read_text().partition("[user]\n")
    return Template(system.removeprefix("[system]\n").strip()), Template(user.strip())
