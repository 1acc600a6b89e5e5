"""AI in the description of the service."""

from __future__ import annotations

from typing import Any

from masthead.features.ai.prompts import MAX_CHARACTERS, REQUIRED
from masthead.web.openapi.builders import body, object_of, text
from masthead.web.openapi.description import Description

TAG = "AI"


def _action(name: str, required: tuple[str, ...]) -> dict[str, Any]:
    texts = {
        each: text(minLength=1, maxLength=MAX_CHARACTERS[each], pattern=r"[^\s\u001c-\u001f\u0085]")
        for each in required
    }
    return object_of(["action", *texts], action={"const": name}, **texts)


_ACTIONS = {"oneOf": [_action(*each) for each in REQUIRED.items()]}
_EXAMPLE = {"action": "summarize", "selection": "Tides are made by the moon and the sun."}
_STREAM = {
    "description": "Events, each a line `data: <JSON>` and a blank line; the last one is "
    "`data: [DONE]`. Failures after the start are also events.",
    "content": {"text/event-stream": {"example": 'data: {"text":"The moon "}\n\ndata: [DONE]\n\n'}},
}

GENERATE = Description(
    name="generate",
    tag=TAG,
    summary="Writes, rewrites, translates or summarizes a text, as a stream.",
    answers={"200": _STREAM},
    body=body(_ACTIONS, _EXAMPLE),
    errors=(401, 404),
)
