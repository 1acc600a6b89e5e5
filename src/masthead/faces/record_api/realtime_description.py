"""Realtime in the description of the service."""

from __future__ import annotations

from masthead.faces.record_api.description import error_schema
from masthead.faces.record_api.realtime_calls import (
    FAILED,
    MAX_CLIENT_ID,
    MAX_TOPIC,
    MAX_TOPICS,
    too_long,
)
from masthead.web.openapi.builders import answer, body, object_of, query, text
from masthead.web.openapi.description import Description, Envelope

TAG = "Realtime"
TAGS = {TAG: "Changes of records, as they happen."}

_CLIENT_ID = "w4yw2c0d1uf8q6v5t3mznkj0e8a1c5b7d9f0e2a4"
_STREAM = {
    "description": "Events. The first is `PB_CONNECT`; its data has the `clientId` to subscribe "
    'with, and `"gap": true` if changes since `Last-Event-ID` are no longer known. The others are '
    "named as the subscription; their data has `action` (create, update, delete) and `record`, "
    "their `id` is the place of the change.",
    "content": {
        "text/event-stream": {
            "example": f'id:{_CLIENT_ID}\nevent:PB_CONNECT\ndata:{{"clientId":"{_CLIENT_ID}"}}\n\n'
        }
    },
}
_LAST_EVENT_ID = {
    **query(
        "Last-Event-ID",
        "The `id` of the last message that the client has got: it gets those that it has missed.",
        {"type": "string"},
        "v2f-0-0",
    ),
    "in": "header",
}
_TOPICS = {
    "type": "array",
    "maxItems": MAX_TOPICS,
    "items": text(
        "`posts`, `posts/*` or `posts/<id>`; `?options=` with URL-encoded JSON may have a `query` "
        "with `filter`, `expand` and `fields`.",
        maxLength=MAX_TOPIC,
    ),
}

_REFUSED = error_schema("What is wrong, by field; under `subscriptions` by their numbers from 0.")
_REFUSAL = {
    "status": 400,
    "code": "validation_invalid_data",
    "message": FAILED,
    "data": {"subscriptions": {"0": too_long(MAX_TOPIC)}},
}

CONNECT = Description(
    name="connectRealtime",
    tag=TAG,
    summary="A stream of the changes that the client subscribes to.",
    answers={"200": _STREAM},
    parameters=[_LAST_EVENT_ID],
    errors=(403, 429),
    envelope=Envelope.RECORD_STORE,
)
SUBSCRIBE = Description(
    name="subscribeRealtime",
    tag=TAG,
    summary="Says which changes an open stream is to have, in place of those before.",
    answers={
        "204": {"description": "Done."},
        "400": answer("The stream keeps its subscriptions.", _REFUSED, _REFUSAL),
    },
    body=body(
        object_of(
            ["clientId"],
            clientId=text("Of the stream's first event.", minLength=1, maxLength=MAX_CLIENT_ID),
            subscriptions={"anyOf": [_TOPICS, {"type": "null"}]},
        ),
        {"clientId": _CLIENT_ID, "subscriptions": ["posts/*"]},
    ),
    errors=(403, 404, 429),
    envelope=Envelope.RECORD_STORE,
)
