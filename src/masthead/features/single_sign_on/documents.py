"""JSON documents of providers: limited in size and time, and of the expected shape."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from masthead.features.single_sign_on.errors import ProviderFailed
from masthead.outside.outbound.answers import Answer
from masthead.outside.outbound.client import OutboundClient
from masthead.outside.outbound.errors import OutboundError

MAX_BYTES = 256 * 1024
TIMEOUT_SECONDS = 8.0
_LIMITS: Final[Any] = {"timeout_seconds": TIMEOUT_SECONDS, "max_answer_bytes": MAX_BYTES + 1}
_JSON = {"Accept": "application/json", "Accept-Encoding": "identity"}

Document = dict[str, Any]


async def fetch_document(
    client: OutboundClient, url: str, headers: Mapping[str, str] | None = None, *, share: str
) -> Document:
    headers = {**_JSON, **(headers or {})}
    return await _read_answer(url, client.get(url, headers, **_LIMITS, share=share))


async def post_form(
    client: OutboundClient,
    url: str,
    form: Mapping[str, str],
    headers: Mapping[str, str],
    *,
    share: str,
) -> Document:
    body = urlencode(form).encode()
    headers = {**_JSON, "Content-Type": "application/x-www-form-urlencoded", **headers}
    return await _read_answer(url, client.post(url, body, headers, **_LIMITS, share=share))


def text_of(document: Document, name: str) -> str:
    """The text of that name; empty if there is none."""
    value = document.get(name)
    return value if isinstance(value, str) else ""


async def _read_answer(url: str, call: Awaitable[Answer]) -> Document:
    try:
        answer = await call
    except OutboundError as error:
        raise ProviderFailed(f"{url}: {error.message}") from error
    if len(answer.body_start) > MAX_BYTES:
        raise ProviderFailed(f"{url}: the answer has more than {MAX_BYTES} bytes.")
    try:
        found = msgspec.json.decode(answer.body_start)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ProviderFailed(f"{url}: the answer ({answer.status}) is not JSON.") from error
    if not isinstance(found, dict):
        raise ProviderFailed(f"{url}: the answer is not a JSON object.")
    if answer.status != 200:
        said = text_of(found, "error")[:100]
        raise ProviderFailed(f"{url}: the answer is {answer.status} {said}".rstrip())
    return found
