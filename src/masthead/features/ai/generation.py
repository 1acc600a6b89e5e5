"""One generation: relays the provider's stream to the client's. However either ends, the client's
stream is ended properly, the provider's call is closed at once, and its cost is recorded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING

import msgspec

from masthead.base.errors import MastheadError
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.features.ai.accounts import Destination
from masthead.features.ai.addresses import NOT_ALLOWED
from masthead.features.ai.answer import EventStream
from masthead.features.ai.budget import Reservation
from masthead.features.ai.event_stream import EventReader, InvalidStream
from masthead.features.ai.ledger import Ledger
from masthead.features.ai.open_streams import OpenStreams
from masthead.features.ai.prompts import Prompt
from masthead.features.ai.providers import Failure, Reader, call_for, reader_for
from masthead.outside.outbound.errors import Kind, OutboundError
from masthead.outside.outbound.streams import OutboundStreams
from masthead.web.answers import ClientDisconnected
from masthead.web.asgi import Receive

if TYPE_CHECKING:
    from masthead.outside.outbound.streamed_response import StreamedResponse

MAX_ANSWER_CHARACTERS = 400_000
MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Including the events around the text: some 300 bytes for a word of four characters."""
BYTES_PER_TOKEN = 4
"""An estimate for answers without usage. A number of characters would be right for English only."""


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds; the outgoing client has its own timeout for connecting."""

    first_byte: float = 60.0
    between_chunks: float = 60.0
    total: float = 300.0
    heartbeat: float = 15.0
    usage: float = 5.0
    """For the usage, which some servers send after the text and others never."""
    last_event: float = 2.0
    """For a client that does not receive the last event."""

    @property
    def longest_call(self) -> float:
        """The maximal duration of a call."""
        return self.total + self.usage + self.last_event


class ProviderRefused(Exception):
    """The provider did not start an answer; the message may be shown."""


class GenerationRequest(msgspec.Struct, frozen=True):
    prompt: Prompt
    destination: Destination
    tenant_id: TenantId
    by_platform: bool
    reservation: Reservation | None
    """If the tenant has a budget."""

    @property
    def max_tokens(self) -> int | None:
        return self.reservation.max_tokens if self.reservation else None


class Generator(msgspec.Struct, frozen=True):
    streams: OutboundStreams
    ledger: Ledger
    open_streams: OpenStreams
    timeouts: Timeouts = Timeouts()

    async def run(self, request: GenerationRequest, answer: EventStream, receive: Receive) -> None:
        """Returns when the client's stream has ended or the client has disconnected."""
        generation = _Generation(request, answer, reader_for(request.destination.account.provider))
        try:
            await answer.open()
            await self._stream(generation, receive)
        finally:
            await self._record_usage(generation)

    async def _stream(self, generation: _Generation, receive: Receive) -> None:
        relaying = asyncio.create_task(self._relay(generation))
        disconnecting = asyncio.create_task(_wait_for_disconnect(receive))
        self.open_streams.add(relaying)
        try:
            await self._supervise(relaying, disconnecting, generation)
        finally:
            relaying.cancel()
            disconnecting.cancel()
            await asyncio.gather(relaying, disconnecting, return_exceptions=True)

    async def _supervise(
        self,
        relaying: asyncio.Task[None],
        disconnecting: asyncio.Task[None],
        generation: _Generation,
    ) -> None:
        answer, heartbeat = generation.answer, self.timeouts.heartbeat
        while True:
            pause = heartbeat - answer.silent_seconds()
            await asyncio.wait(
                (relaying, disconnecting),
                # No pause left: the last heartbeat was skipped for a slow client.
                timeout=pause if pause > 0 else heartbeat,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if disconnecting.done():
                return
            if relaying.cancelled():
                generation.outcome = "service_stopping"
                await self._write_in_time(
                    answer.finish(_failed(generation.outcome, retryable=True))
                )
                return
            if relaying.done():
                relaying.result()
                return
            if answer.silent_seconds() >= heartbeat:
                await self._write_in_time(answer.send_heartbeat())

    async def _write_in_time(self, writing: Awaitable[None]) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.timeouts.last_event):
                await writing

    async def _relay(self, generation: _Generation) -> None:
        last: dict[str, object] | None = None
        try:
            async with asyncio.timeout(self.timeouts.total):
                await self._generate(generation)
        except ProviderRefused as error:
            last = {"error": str(error)}
        except Failure as error:
            last = _failed(error.reason, retryable=error.retryable)
        except InvalidStream:
            last = _failed("provider_garbled", retryable=True)
        except TimeoutError:
            last = _failed("provider_timeout", retryable=True)
        except ClientDisconnected:
            return
        # The request's own edge: the status has been sent, so the middleware can't answer.
        except Exception:
            log.exception("ai.failed")
            last = _failed("internal_error", retryable=True)
        generation.outcome = "finished" if last is None else str(last.get("reason", "refused"))
        await self._write_in_time(generation.answer.finish(last))

    async def _generate(self, generation: _Generation) -> None:
        account = generation.request.destination.account
        call = call_for(account, generation.request.prompt, generation.request.max_tokens)
        try:
            async with self.streams.post(
                call.url,
                call.body,
                call.headers,
                policy=generation.request.destination.policy,
                timeout_seconds=self.timeouts.first_byte,
                on_sent=generation.mark_sent,
            ) as response:
                if response.status != 200:
                    raise ProviderRefused(_refusal(response))
                generation.has_begun = True
                await self._copy(response, generation)
        except OutboundError as error:
            if generation.has_begun:
                raise _interrupted(error) from error
            generation.is_billed = generation.is_billed and error.kind is Kind.TIMEOUT
            raise ProviderRefused(_CONNECTION_ERRORS.get(error.kind, UNREACHABLE)) from error
        except ProviderRefused:
            generation.is_billed = False
            raise

    async def _copy(self, response: StreamedResponse, generation: _Generation) -> None:
        copier, reader, timeouts = _Copier(generation), generation.reader, self.timeouts
        while not reader.is_over:
            seconds = timeouts.usage if reader.has_ended else timeouts.between_chunks
            try:
                content = await response.read(seconds)
            except OutboundError:
                if reader.has_ended:
                    # The text is complete, so the error does not matter.
                    break
                raise
            if not content:
                break
            await copier.feed(content)
        if not reader.has_ended:
            copier.events.end()
            raise _unfinished(copier.events)
        if not generation.answer.characters:
            raise Failure("empty_answer", retryable=True)

    async def _record_usage(self, generation: _Generation) -> None:
        request = generation.request
        tokens_in, tokens_out = generation.tokens()
        log.info(
            "ai.generated",
            tenant=request.tenant_id,
            provider=request.destination.account.provider.value,
            payer="platform" if request.by_platform else "tenant",
            outcome=generation.outcome,
            amount_in=tokens_in,
            amount_out=tokens_out,
        )
        # First, because a budget is checked against the ledger if the process dies in between.
        if generation.is_billed:
            with _log_errors(request):
                await self.ledger.record(
                    request.tenant_id, tokens_in, tokens_out, by_platform=request.by_platform
                )
        if request.reservation:
            with _log_errors(request):
                await request.reservation.settle(tokens_in + tokens_out)


@contextlib.contextmanager
def _log_errors(request: GenerationRequest) -> Iterator[None]:
    try:
        yield
    except MastheadError:
        # The log has the amounts. The next step must still run.
        log.exception("ai.not_recorded", tenant=request.tenant_id)


class _Generation(msgspec.Struct):
    request: GenerationRequest
    answer: EventStream
    reader: Reader
    has_begun: bool = False
    is_billed: bool = False
    """The provider has received the request and may charge for it."""
    outcome: str = "abandoned"

    def mark_sent(self) -> None:
        self.is_billed = True

    def tokens(self) -> tuple[int, int]:
        usage = self.reader.usage
        if not self.is_billed:
            return 0, 0
        return (
            _estimated(self.request.prompt.size) if usage.tokens_in is None else usage.tokens_in,
            _estimated(self.answer.size) if usage.tokens_out is None else usage.tokens_out,
        )


def _estimated(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


async def _wait_for_disconnect(receive: Receive) -> None:
    """Returns when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


class _Copier:
    """Parses the provider's bytes and sends the text to the client."""

    def __init__(self, generation: _Generation) -> None:
        self.events = EventReader()
        self._reader = generation.reader
        self._answer = generation.answer
        self._size = 0

    async def feed(self, content: bytes) -> None:
        self._size += len(content)
        texts: list[str] = []
        try:
            for name, data in self.events.feed(content):
                if text := self._reader.feed(name, data):
                    texts.append(text)
        finally:
            # The text before an invalid event is still sent.
            if texts:
                await self._answer.texts(texts)
        if self._answer.characters > MAX_ANSWER_CHARACTERS or self._size > MAX_ANSWER_BYTES:
            raise Failure("answer_too_long", retryable=False)


def _failed(reason: str, *, retryable: bool) -> dict[str, object]:
    return {"event": "stream_failed", "reason": reason, "retryable": retryable}


def _unfinished(events: EventReader) -> Failure:
    if not events.has_read_anything:
        return Failure("empty_answer", retryable=True)
    if not events.has_found_anything:
        return Failure("provider_garbled", retryable=True)
    return Failure("provider_disconnected", retryable=True)


def _interrupted(error: OutboundError) -> Failure:
    is_slow = error.kind is Kind.TIMEOUT
    return Failure("provider_timeout" if is_slow else "provider_disconnected", retryable=True)


UNREACHABLE = "The AI provider can't be reached. Try again later."
_CONNECTION_ERRORS = {
    Kind.REFUSED_ADDRESS: NOT_ALLOWED,
    Kind.TIMEOUT: "The AI provider did not answer in time. Try again later.",
}
_REFUSALS = {
    401: "The AI provider does not accept the key. Check the AI settings.",
    402: "The AI provider's account has no credit left.",
    403: "The AI provider does not accept the key. Check the AI settings.",
    404: "The AI provider does not know the model or the address. Check the AI settings.",
    429: "The AI provider's rate limit is exceeded. Try again later.",
}
_REJECTED = "The AI provider does not accept the request. Check the model in the AI settings."
_UNAVAILABLE = "The AI provider is not available at the moment. Try again later."


def _refusal(response: StreamedResponse) -> str:
    if response.status == 429 and response.retry_after:
        return (
            "The AI provider's rate limit is exceeded. "
            f"Try again in {response.retry_after} seconds."
        )
    default = _REJECTED if 400 <= response.status < 500 else _UNAVAILABLE
    return _REFUSALS.get(response.status, default)
