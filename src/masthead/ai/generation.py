"""One generation from beginning to end: the provider's stream on one side, the client's on the
other. Whatever happens on either, the client's stream ends in order, the provider's call is closed
at once, and what it cost is written down."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass

import structlog
from starlette.types import Receive

from masthead.ai.accounts import Destination
from masthead.ai.addresses import NOT_ALLOWED
from masthead.ai.answer import EventStream
from masthead.ai.budget import Reservation
from masthead.ai.event_stream import EventReader, Garbled
from masthead.ai.ledger import Ledger
from masthead.ai.open_streams import OpenStreams
from masthead.ai.prompts import Prompt
from masthead.ai.providers import Failure, Reader, call_for, reader_for
from masthead.errors import MastheadError
from masthead.ids import TenantId
from masthead.outbound.errors import Kind, OutboundError
from masthead.outbound.streams import Incoming, OutboundStreams
from masthead.web.bodies import ClientDisconnected

log = structlog.get_logger()

MAX_ANSWER_CHARACTERS = 400_000
MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""With all that is around the text: an event has some 300 bytes for a word of four characters."""
BYTES_PER_TOKEN = 4
"""The usual rule of thumb, where the provider has not counted or was not let finish. Of characters
it would hold for English only."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds; connecting has its own limit in the outgoing client."""

    first_byte: float = 60.0
    between_chunks: float = 60.0
    total: float = 300.0
    heartbeat: float = 15.0
    after_the_end: float = 5.0
    """For the usage, which some servers send after the text and others never do."""
    farewell: float = 2.0
    """For a client that does not take the last event."""

    @property
    def longest(self) -> float:
        """No call takes longer than that, however it ends."""
        return self.total + self.after_the_end + self.farewell


class Refused(Exception):
    """The provider did not begin an answer; the message may be shown."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be generated, and who pays."""

    prompt: Prompt
    destination: Destination
    tenant_id: TenantId
    by_platform: bool
    reservation: Reservation | None
    """Of a tenant that has a budget."""

    @property
    def max_tokens(self) -> int | None:
        return self.reservation.max_tokens if self.reservation else None


@dataclass(frozen=True, slots=True)
class Generator:
    streams: OutboundStreams
    ledger: Ledger
    open_streams: OpenStreams
    patience: Patience = Patience()

    async def run(self, order: Order, answer: EventStream, receive: Receive) -> None:
        """Returns when the client's stream has ended or the client is gone."""
        work = _Work(order, answer, reader_for(order.destination.account.provider))
        try:
            await answer.open()
            await self._stream(work, receive)
        finally:
            await self._settle(work)

    async def _stream(self, work: _Work, receive: Receive) -> None:
        relaying = asyncio.create_task(self._relay(work))
        leaving = asyncio.create_task(_departure(receive))
        self.open_streams.add(relaying)
        try:
            await self._accompany(relaying, leaving, work)
        finally:
            relaying.cancel()
            leaving.cancel()
            await asyncio.gather(relaying, leaving, return_exceptions=True)

    async def _accompany(
        self, relaying: asyncio.Task[None], leaving: asyncio.Task[None], work: _Work
    ) -> None:
        answer, heartbeat = work.answer, self.patience.heartbeat
        while True:
            pause = heartbeat - answer.silent_seconds()
            await asyncio.wait(
                (relaying, leaving),
                # Nothing left of it: the last beat was left out, for a client that takes nothing.
                timeout=pause if pause > 0 else heartbeat,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if leaving.done():
                return
            if relaying.cancelled():
                work.outcome = "service_stopping"
                await self._part(answer.finish(_failed(work.outcome, retryable=True)))
                return
            if relaying.done():
                relaying.result()
                return
            if answer.silent_seconds() >= heartbeat:
                await self._part(answer.beat())

    async def _part(self, writing: Awaitable[None]) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.patience.farewell):
                await writing

    async def _relay(self, work: _Work) -> None:
        last: dict[str, object] | None = None
        try:
            async with asyncio.timeout(self.patience.total):
                await self._generate(work)
        except Refused as error:
            last = {"error": str(error)}
        except Failure as error:
            last = _failed(error.reason, retryable=error.retryable)
        except Garbled:
            last = _failed("provider_garbled", retryable=True)
        except TimeoutError:
            last = _failed("provider_timeout", retryable=True)
        except ClientDisconnected:
            return
        # The request's own edge: its status has been sent, so the front door can't answer any more.
        except Exception:
            log.exception("ai.failed")
            last = _failed("internal_error", retryable=True)
        work.outcome = "finished" if last is None else str(last.get("reason", "refused"))
        await self._part(work.answer.finish(last))

    async def _generate(self, work: _Work) -> None:
        account = work.order.destination.account
        call = call_for(account, work.order.prompt, work.order.max_tokens)
        try:
            async with self.streams.post(
                call.url,
                call.body,
                call.headers,
                reach=work.order.destination.reach,
                timeout_seconds=self.patience.first_byte,
                when_sent=work.note_sent,
            ) as incoming:
                if incoming.status != 200:
                    raise Refused(_refusal(incoming))
                work.has_begun = True
                await self._copy(incoming, work)
        except OutboundError as error:
            if work.has_begun:
                raise _broken_off(error) from error
            work.is_billed = work.is_billed and error.kind is Kind.TIMEOUT
            raise Refused(_UNREACHED.get(error.kind, UNREACHABLE)) from error
        except Refused:
            work.is_billed = False
            raise

    async def _copy(self, incoming: Incoming, work: _Work) -> None:
        copying, reader, patience = _Copying(work), work.reader, self.patience
        while not reader.is_over:
            seconds = patience.after_the_end if reader.has_ended else patience.between_chunks
            try:
                content = await incoming.read(seconds)
            except OutboundError:
                if reader.has_ended:
                    # The text is complete; how the connection ends is of no interest.
                    break
                raise
            if not content:
                break
            await copying.take(content)
        if not reader.has_ended:
            copying.events.end()
            raise _unfinished(copying.events)
        if not work.answer.characters:
            raise Failure("empty_answer", retryable=True)

    async def _settle(self, work: _Work) -> None:
        order = work.order
        tokens_in, tokens_out = work.tokens()
        log.info(
            "ai.generated",
            tenant=order.tenant_id,
            provider=order.destination.account.provider.value,
            payer="platform" if order.by_platform else "tenant",
            outcome=work.outcome,
            amount_in=tokens_in,
            amount_out=tokens_out,
        )
        # What is written down first is what a budget goes by, should the process die in between.
        if work.is_billed:
            with _answered_anyway(order):
                await self.ledger.record(
                    order.tenant_id, tokens_in, tokens_out, by_platform=order.by_platform
                )
        if order.reservation:
            with _answered_anyway(order):
                await order.reservation.settle(tokens_in + tokens_out)


@contextlib.contextmanager
def _answered_anyway(order: Order) -> Iterator[None]:
    try:
        yield
    except MastheadError:
        # The log has the amounts; what else there is to write down must not be lost with it.
        log.exception("ai.not_recorded", tenant=order.tenant_id)


@dataclass(slots=True)
class _Work:
    order: Order
    answer: EventStream
    reader: Reader
    has_begun: bool = False
    is_billed: bool = False
    """The provider has got the request and may charge for it."""
    outcome: str = "abandoned"

    def note_sent(self) -> None:
        self.is_billed = True

    def tokens(self) -> tuple[int, int]:
        usage = self.reader.usage
        if not self.is_billed:
            return 0, 0
        return (
            _estimated(self.order.prompt.size) if usage.tokens_in is None else usage.tokens_in,
            _estimated(self.answer.size) if usage.tokens_out is None else usage.tokens_out,
        )


def _estimated(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)


async def _departure(receive: Receive) -> None:
    """Returns when the client has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


class _Copying:
    """From the provider's bytes to the client's text, called for every piece of every answer."""

    def __init__(self, work: _Work) -> None:
        self.events = EventReader()
        self._reader = work.reader
        self._answer = work.answer
        self._size = 0

    async def take(self, content: bytes) -> None:
        self._size += len(content)
        pieces: list[str] = []
        try:
            for name, data in self.events.feed(content):
                if text := self._reader.take(name, data):
                    pieces.append(text)
        finally:
            # The text before something that is no event still belongs to the client.
            if pieces:
                await self._answer.texts(pieces)
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


def _broken_off(error: OutboundError) -> Failure:
    is_slow = error.kind is Kind.TIMEOUT
    return Failure("provider_timeout" if is_slow else "provider_disconnected", retryable=True)


UNREACHABLE = "The AI provider can't be reached. Try again later."
_UNREACHED = {
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


def _refusal(incoming: Incoming) -> str:
    if incoming.status == 429 and incoming.retry_after:
        return (
            "The AI provider's rate limit is exceeded. "
            f"Try again in {incoming.retry_after} seconds."
        )
    otherwise = _REJECTED if 400 <= incoming.status < 500 else _UNAVAILABLE
    return _REFUSALS.get(incoming.status, otherwise)
