"""What a caller may ask for, and how the request becomes a prompt.

The prompts are the text files in `prompts/`: one per action, its standing orders under `[system]`
and the caller's words under `[user]`. The words stand between marks that nobody can guess, so that
no text can close its own quotation and go on as an order.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from masthead.errors import BadRequest

MAX_CHARACTERS = {"prompt": 8_000, "selection": 32_000, "language": 100}
REQUIRED = {
    "generate": ("prompt",),
    "rewrite": ("selection",),
    "translate": ("selection", "language"),
    "summarize": ("selection",),
}

_FOLDER = Path(__file__).with_name("prompts")


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that can be fulfilled: the action and the texts that it needs."""

    action: str
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Prompt:
    system: str
    user: str

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.system.encode()) + len(self.user.encode())


def read_wish(body: Mapping[str, Any]) -> Wish:
    action = body.get("action")
    if not isinstance(action, str) or action not in REQUIRED:
        raise BadRequest(f"`action` must be one of {', '.join(REQUIRED)}.")
    return Wish(action, {name: _text(body, action, name) for name in REQUIRED[action]})


def prompt_for(wish: Wish) -> Prompt:
    system, user = _templates(wish.action)
    values = {**wish.texts, "marker": secrets.token_hex(8)}
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
