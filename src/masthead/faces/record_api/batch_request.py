"""The body of a batch: its requests, and the files that belong to them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from masthead.base.errors import BadRequest, Problem
from masthead.engine.records.fields.base import REQUIRED
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.errors import BatchRefused, problem_data
from masthead.web.bodies import json_object
from masthead.web.multipart import JSON_PAYLOAD, Form, Upload, read_form

MAX_REQUESTS = 50
MAX_BYTES = 128 * 1024 * 1024
"""The size of a batch with its files."""
MAX_JSON_BYTES = 32 * 1024 * 1024
MAX_URL = 2_000
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

_NOT_READ = "Failed to read the submitted batch data."
_ADDRESS = re.compile(r"/api/collections/([^/]+)/records(?:/([^/]+))?")
_FILE = re.compile(r"requests(?:[.](0|[1-9][0-9]?)|\[(0|[1-9][0-9]?)\])[.](.+)")
_NO_FILES = "Sign in as staff to send files."
_ONLY_CHANGES = (
    "A batch can create (POST), upsert (PUT), update (PATCH) and delete (DELETE) records: "
    "/api/collections/{collection}/records, with /{id} to update or delete."
)


class Item(NamedTuple):
    method: str
    url: str
    body: dict[str, Any]
    uploads: list[Upload]


class Target(NamedTuple):
    collection: str
    record_id: str
    query_string: bytes


async def read_batch(call: Call) -> list[Item]:
    """Raises BatchRefused, BadRequest or TooLarge."""
    given, files = await _read_body(call)
    requests = given.get("requests") or []
    if not isinstance(requests, list) or not all(map(_is_request, requests)):
        raise BadRequest(
            f"{_NOT_READ} `requests` is a list of objects with `method`, `url` and `body`."
        )
    _check(requests)
    return [
        Item(each["method"], each["url"], each.get("body") or {}, files.get(number, []))
        for number, each in enumerate(requests)
    ]


def target_of(item: Item) -> Target:
    """The record or the collection that a request changes."""
    try:
        parts = urlsplit(item.url)
    except ValueError:
        raise BadRequest(_ONLY_CHANGES) from None
    match = _ADDRESS.fullmatch(parts.path)
    is_one = bool(match and match[2])
    wanted = ("PATCH", "DELETE") if is_one else ("POST", "PUT")
    if match is None or parts.netloc or item.method not in wanted:
        raise BadRequest(_ONLY_CHANGES)
    return Target(unquote(match[1]), unquote(match[2] or ""), parts.query.encode())


async def _read_body(call: Call) -> tuple[dict[str, Any], dict[int, list[Upload]]]:
    is_reader = call.caller.is_reader
    if not call.is_multipart:
        raw = await call.request.body()
        given = await _decode(raw)
        # PocketBase's Python client sends the form's field as JSON if there are no files.
        payload = given.get(JSON_PAYLOAD)
        return await _decode(payload.encode()) if isinstance(payload, str) else given, {}
    reading = read_form(
        call.request.scope,
        call.request.receive,
        limit=call.request.max_body if is_reader else MAX_BYTES,
        no_files=_NO_FILES if is_reader else "",
        max_field_bytes=MAX_JSON_BYTES,
    )
    form = await call.request.resources.enter_async_context(reading)
    payload = "".join(text for name, text in form.fields if name == JSON_PAYLOAD)
    return await _decode(payload.encode()), _files_of(form)


async def _decode(raw: bytes) -> dict[str, Any]:
    if not raw.strip():
        return {}
    try:
        return await json_object(raw)
    except BadRequest as error:
        raise BadRequest(f"{_NOT_READ} {error}") from error


def _files_of(form: Form) -> dict[int, list[Upload]]:
    """The files by request. As in PocketBase, a file that belongs to none is ignored."""
    found: dict[int, list[Upload]] = {}
    for upload in form.files:
        if match := _FILE.fullmatch(upload.field):
            upload.field = match[3]
            found.setdefault(int(match[1] or match[2]), []).append(upload)
    return found


def _is_request(given: Any) -> bool:
    return (
        isinstance(given, dict)
        and isinstance(given.get("method", ""), str)
        and isinstance(given.get("url", ""), str)
        and isinstance(given.get("body") or {}, dict)
    )


def _check(requests: list[dict[str, Any]]) -> None:
    if not requests:
        raise BatchRefused({"requests": problem_data(REQUIRED)})
    if len(requests) > MAX_REQUESTS:
        raise BatchRefused({"requests": problem_data(_too_long(MAX_REQUESTS))})
    wrong = {str(number): found for number, each in enumerate(requests) if (found := _wrong(each))}
    if wrong:
        raise BatchRefused({"requests": wrong})


def _wrong(request: dict[str, Any]) -> dict[str, Any]:
    found = {}
    method, url = request.get("method"), request.get("url")
    if not method:
        found["method"] = problem_data(REQUIRED)
    elif method not in METHODS:
        found["method"] = problem_data(Problem("validation_in_invalid", "Must be a valid value."))
    if not url:
        found["url"] = problem_data(REQUIRED)
    elif len(url) > MAX_URL:
        found["url"] = problem_data(_too_long(MAX_URL))
    return found


def _too_long(most: int) -> Problem:
    message = f"The length must be no more than {most}."
    return Problem("validation_length_too_long", message, {"min": 0, "max": most})
