"""Facts that the schema-driven tester can't know from the schema: the database, and clocks.

Only valid data is touched, and only to keep it valid; whatever is meant to be refused goes out as
it was made.
"""

from __future__ import annotations

import os
import uuid
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode, HookContext

from masthead.web.v1.parameters import write_cursor

POST_ID = os.environ["CONFORMANCE_POST"]
_WHOLE_NUMBERS = range(-(2**63), 2**63)

schemathesis.openapi.format(
    "cursor",
    st.just(write_cursor("", {"created": "2026-11-14T09:30:00.123Z", "id": "k3v9q0x7m2c8b1d"})),
)


@schemathesis.hook
def before_call(context: HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    if case.method == "DELETE" and case.path_parameters.get("id") == POST_ID:
        # Comments need it to the end.
        case.path_parameters["id"] = "gone"
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    if case.headers and "Idempotency-Key" in case.headers:
        # One key means one request.
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if case.query:
        case.query.pop("after", None)
        if "from" in case.query and "to" in case.query:
            # A span of more than a year is refused, and one that ends before it begins.
            case.query["from"] = case.query["to"]
        if "post_id" in case.query:
            case.query["post_id"] = POST_ID
        if "cursor" in case.query:
            # It belongs to the usual order.
            case.query.pop("sort", None)
    if isinstance(case.body, dict):
        _make_possible(case.body)
        if case.path.endswith("/replay"):
            # A span has at most 30 days, and the events are those of the subscription.
            case.body |= {"from": "2026-11-14T09:00:00Z", "to": "2026-11-14T12:00:00Z"}
            case.body.pop("events", None)


def _make_possible(body: dict[str, Any]) -> None:
    """References exist, unique values are unique, and one text is sent in one form."""
    if "content_markdown" in body:
        body.pop("content_html", None)
        body.pop("content_json", None)
    if body.get("scheduled_for"):
        # Only a draft can be scheduled, and only for a time to come.
        body["status"], body["scheduled_for"] = "draft", "2999-01-01T00:00:00Z"
    if body.get("post_id"):
        body["post_id"] = POST_ID
    # Who the staff are, no schema can say; nor that each language is there once.
    body.pop("authors", None)
    if body.get("translations"):
        del body["translations"][1:]
    if body.get("filter"):
        # It has a language of its own.
        body["filter"] = 'event = "post.published"'
    if body.get("theme"):
        # Which ones there are is the operator's, and so is whether there is code.
        body["theme"] = "letter"
    for name in ("head_html", "foot_html"):
        body.pop(name, None)
    if body.get("parent_id"):
        body["parent_id"] = None
    if body.get("slug"):
        body["slug"] = str(uuid.uuid4())
    if str(body.get("url", "")).startswith("https:"):
        body["url"] = "https://127.0.0.1:9/"


@schemathesis.hook
def filter_body(context: HookContext, body: Any) -> bool:
    """JSON Schema can't limit the numbers inside fields that are ignored or free, and in a form
    everything is text and has a name."""
    operation = context.operation
    if operation is not None and operation.definition.raw["operationId"] == "createMedia":
        return not isinstance(body, dict) or (
            "" not in body and isinstance(body.get("alt", ""), str)
        )
    return _has_whole_numbers_in_range(body)


def _has_whole_numbers_in_range(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_has_whole_numbers_in_range, value.values()))
    if isinstance(value, list):
        return all(map(_has_whole_numbers_in_range, value))
    return not isinstance(value, int) or value in _WHOLE_NUMBERS
