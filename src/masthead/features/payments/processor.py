"""Calls the payment processor's API, which has Stripe's shape: forms in, JSON objects out.

The processor's own messages are neither shown nor logged: some of them repeat a part of the key.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import msgspec

from masthead.base.logs import log
from masthead.engine.records.fields.text import is_web_address
from masthead.outside.outbound.errors import Kind, OutboundError
from masthead.outside.outbound.policies import OutboundPolicy
from masthead.outside.outbound.streams import OutboundStreams

if TYPE_CHECKING:
    from masthead.outside.outbound.streamed_response import StreamedResponse

COUPONS = "/v1/coupons"
API_VERSION = "2024-06-20"
REPEAT_SECONDS = 300
"""How long the same request has the same answer. A checkout that was paid or has expired can't be
used again, and a failure is not to last, so not for long."""
TIMEOUT_SECONDS = 10.0
MAX_ANSWER_BYTES = 256 * 1024
MAX_URL_LENGTH = 8_000

_KEY = re.compile(r"[\x21-\x7e]+")
_WORD = re.compile(r"[a-z0-9_\[\]]{1,60}")


class ProcessorError(Exception):
    """The processor refused or failed; nothing was charged."""

    def __init__(self, reason: str, *, is_temporary: bool, code: str = "", param: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_temporary = is_temporary
        """The same request may succeed later."""
        self.code = code
        self.param = param

    @property
    def is_unknown_customer(self) -> bool:
        return self.code == "resource_missing" and self.param == "customer"

    @property
    def is_known_already(self) -> bool:
        """There is an object with the id that was to be made."""
        return self.code == "resource_already_exists"

    @property
    def is_unknown_coupon(self) -> bool:
        return self.code == "resource_missing" and "coupon" in self.param

    @property
    def is_used_coupon(self) -> bool:
        """It has ended, or was used as often as it can be."""
        return self.code == "coupon_expired"


class Processor(msgspec.Struct, frozen=True):
    streams: OutboundStreams
    base_url: str
    timeout_seconds: float = TIMEOUT_SECONDS

    async def open_checkout(self, key: str, form: Mapping[str, str], repeat_key: str) -> str:
        """The address of a new checkout, or of the one that the same `repeat_key` has opened."""
        return await self._open("/v1/checkout/sessions", key, form, repeat_key)

    async def open_portal(self, key: str, form: Mapping[str, str]) -> str:
        """The address at which a customer sees invoices, changes the card and cancels."""
        return await self._open("/v1/billing_portal/sessions", key, form, "")

    async def make_coupon(self, key: str, form: Mapping[str, str], repeat_key: str) -> None:
        """Makes the coupon with the id that the form names, unless there is one."""
        try:
            with _logging(COUPONS):
                made = await self._post(COUPONS, key, form, repeat_key)
                if made.get("id") != form["id"]:
                    raise ProcessorError("the answer names another coupon", is_temporary=False)
        except ProcessorError as error:
            if not error.is_known_already:
                raise

    async def _open(self, path: str, key: str, form: Mapping[str, str], repeat_key: str) -> str:
        """Raises ProcessorError."""
        with _logging(path):
            session = await self._post(path, key, form, repeat_key)
            return self._checked_url(session.get("url"))

    async def _post(
        self, path: str, key: str, form: Mapping[str, str], repeat_key: str
    ) -> Mapping[str, Any]:
        if not _KEY.fullmatch(key):
            raise ProcessorError("the site's payment key is not valid", is_temporary=False)
        headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            "Stripe-Version": API_VERSION,
        }
        if repeat_key:
            headers["Idempotency-Key"] = repeat_key
        try:
            async with (
                asyncio.timeout(self.timeout_seconds),
                self.streams.post(
                    self.base_url + path,
                    urlencode(form).encode(),
                    headers,
                    # The operator has chosen the address.
                    policy=OutboundPolicy.OPERATOR,
                    timeout_seconds=self.timeout_seconds,
                ) as response,
            ):
                body = await _body_of(response, self.timeout_seconds)
        except (OutboundError, TimeoutError) as error:
            kind = error.kind if isinstance(error, OutboundError) else Kind.TIMEOUT
            raise ProcessorError(f"no answer: {kind}", is_temporary=True) from error
        return _object_in(response.status, body)

    def _checked_url(self, url: object) -> str:
        """Readers are sent there, so it must be a web page and nothing else."""
        if isinstance(url, str) and len(url) <= MAX_URL_LENGTH and is_web_address(url):
            parts, own = urlsplit(url), urlsplit(self.base_url)
            is_own = (parts.scheme, parts.netloc) == (own.scheme, own.netloc)
            if is_own or (parts.scheme == "https" and "@" not in parts.netloc):
                return url
        raise ProcessorError("the answer contains no page address", is_temporary=False)


@contextmanager
def _logging(path: str) -> Iterator[None]:
    try:
        yield
    except ProcessorError as error:
        if not error.is_known_already:
            log.warning(
                "payments.processor_failed", call=path, reason=error.reason, code=error.code
            )
        raise


async def _body_of(response: StreamedResponse, timeout_seconds: float) -> bytes:
    body = bytearray()
    while chunk := await response.read(timeout_seconds):
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise ProcessorError("the answer is too large", is_temporary=False)
    return bytes(body)


def _object_in(status: int, body: bytes) -> Mapping[str, Any]:
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        answer = None
    if status == 200 and isinstance(answer, dict):
        return answer
    fault = answer.get("error") if isinstance(answer, dict) else None
    fault = fault if isinstance(fault, dict) else {}
    raise ProcessorError(
        f"status {status}" if status != 200 else "the answer is not a JSON object",
        # 409 is another request with the same repeat key, which is still running.
        is_temporary=status in (409, 429) or status >= 500,
        code=_word(fault.get("code")) or _word(fault.get("type")),
        param=_word(fault.get("param")),
    )


def repeat_key(form: Mapping[str, str], now: datetime, attempt: int = 1) -> str:
    """The same for the same request within some minutes. The processor answers it as the first
    time, even if it has refused it: a second attempt that is to have another answer says so."""
    period = int(now.timestamp()) // REPEAT_SECONDS
    return hashlib.sha256(f"{urlencode(form)} {period} {attempt}".encode()).hexdigest()


def _word(value: object) -> str:
    """A name from the processor's vocabulary; anything else may hold what must not be logged."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
