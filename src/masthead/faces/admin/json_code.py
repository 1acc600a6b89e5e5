"""JSON for people: indented, with names, texts and numbers in colours."""

from __future__ import annotations

import re

import msgspec
from markupsafe import Markup, escape

_NAME, _TEXT, _VALUE = "tk", "ts", "tn"
_TOKENS = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")(?P<colon>:)?'
    r"|(?P<value>-?\d[\d.eE+-]*|\b(?:true|false|null)\b)"
)


def json_code(text: str) -> Markup:
    """Everything in it is escaped. Text that is no JSON is shown as it is."""
    try:
        shown = msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:
        return escape(text)
    parts: list[Markup] = []
    last = 0
    for found in _TOKENS.finditer(shown):
        parts.append(escape(shown[last : found.start()]))
        parts.append(_marked(found))
        last = found.end()
    parts.append(escape(shown[last:]))
    return Markup("").join(parts)


def _marked(found: re.Match[str]) -> Markup:
    colon = found["colon"] or ""
    if found["string"] is None:
        kind, token = _VALUE, found["value"]
    else:
        kind, token = (_NAME if colon else _TEXT), found["string"]
    return Markup('<span class="{}">{}</span>{}').format(kind, token, colon)
