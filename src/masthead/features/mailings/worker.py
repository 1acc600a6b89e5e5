"""The worker of mailings: claims slices of recipients, hands their emails over on several
connections and records each result."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from masthead.base import clock, counters
from masthead.base.errors import Unavailable
from masthead.base.languages.words import marked, staff_marked
from masthead.base.logs import log
from masthead.engine.jobs.isolation import isolated
from masthead.features.mailings.forms import FormCache, Forms
from masthead.features.mailings.ledger import Ledger
from masthead.features.mailings.pace import SOON_SECONDS, Domains, Turns
from masthead.features.mailings.progress import MailingProgress
from masthead.features.mailings.queue import (
    Addressee,
    AttemptResult,
    Claimed,
    MailingKey,
    RecipientQueue,
)
from masthead.features.mailings.tables import RecipientState
from masthead.outside.mail.connection import Answer, Connection, Fate, connection_to
from masthead.outside.mail.transport import SigningTransport

SLICE: Final = 100
"""Recipients claimed at once. A slice waits in memory for the connections."""
IDLE_SECONDS: Final = 1.0
CONNECTION_IDLE_SECONDS: Final = 10.0
NO_SERVER_SECONDS: Final = 10.0
"""How long no connection is tried after the only one has failed."""
MAX_GONE: Final = timedelta(days=1)
NO_SERVER: Final = marked(
    "The mail server could not be reached for a day. Once it can be, try again."
)
GIVEN_UP_SECONDS: Final = (10.0, 30.0, 60.0, 300.0)
"""How long a connection is not tried after refusals in a row, while others are open."""
RETRY_AFTER: Final = tuple(timedelta(minutes=each) for each in (2, 10, 30, 60, 120, 240, 480, 600))
"""After refusals for now. Together they are longer than a day; then the recipient has failed."""

MAX_ATTEMPTS: Final = 3
"""To start a mailing, or to make its emails."""
NOT_MADE: Final = marked(
    "The emails could not be made because of an error in the service (%(error)s). The log of the "
    "service has the cause. Once it is fixed, try again."
)
BROKEN: Final = staff_marked("an error in the service; its log has the cause")


class MailingWorker:
    def __init__(
        self,
        queue: RecipientQueue,
        forms: FormCache,
        progress: MailingProgress,
        transport: SigningTransport,
        *,
        now: clock.Clock,
        connections: int,
        per_second: float | None = None,
        per_domain: float | None = None,
    ) -> None:
        self._queue = queue
        self._forms = forms
        self._progress = progress
        self._transport = transport
        self._clock = now
        self._connections = connections
        self._turns = Turns(per_second)
        self._domains = Domains(per_domain)
        self._ledger = Ledger(queue, progress.noticed, connections=connections)
        self._parcels: asyncio.Queue[tuple[Claimed, Forms]] = asyncio.Queue()
        self._in_hand: set[tuple[MailingKey, str]] = set()
        """Claimed recipients that have no result yet."""
        self._room = asyncio.Event()
        self._stopping = asyncio.Event()
        self._lines: list[Connection] = []
        self._connecting = asyncio.Lock()
        """One at a time: whether a refused one is the first or one too many is known then."""
        self._server_is_gone_until = 0.0
        self._gone_since: datetime | None = None
        self._failures: Counter[MailingKey] = Counter()
        """Numbers of failed attempts in a row."""

    def stop(self) -> None:
        """Begins nothing new. Emails that are being handed over are finished and recorded."""
        self._stopping.set()
        self._room.set()

    async def run_forever(self) -> None:
        async with self._running():
            # By itself: a mailing with many recipients must not hold up the others.
            starting = asyncio.create_task(self._start_forever())
            try:
                while not self._stopping.is_set():
                    if not await self._try_to(self._round):
                        await self._pause()
            finally:
                starting.cancel()
                await asyncio.gather(starting, return_exceptions=True)

    async def run_due(self) -> int:
        """Sends everything that is due now; returns how many recipients were claimed."""
        total = 0
        async with self._running():
            await self._start_due()
            while (claimed := await self._round()) or self._failures:
                total += claimed
                await self._wait_until(0)
                await self._start_due()
            # What was recorded last may have ended a mailing.
        await self._each(self._progress.end, await self._queue.ended())
        return total

    @contextlib.asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        async with self._ledger.running():
            couriers = [asyncio.create_task(self._carry()) for _ in range(self._connections)]
            try:
                yield
                await self._give_back()
                await self._wait_until(0)
            finally:
                for each in couriers:
                    each.cancel()
                await asyncio.gather(*couriers, return_exceptions=True)

    async def _start_forever(self) -> None:
        while not self._stopping.is_set():
            await self._try_to(self._start_due)
            await self._pause()

    async def _start_due(self) -> int:
        await self._each(self._progress.hold, await self._queue.suspended())
        await self._each(self._progress.go_on, await self._queue.reopened())
        for key in await self._queue.startable():
            await self._attempt(key, self._progress.start(key))
        return 0

    async def _each(
        self, work: Callable[[MailingKey], Awaitable[None]], keys: Sequence[MailingKey]
    ) -> None:
        for key in keys:
            with isolated("mailings", **key._asdict()):
                await work(key)

    async def _attempt(self, key: MailingKey, work: Awaitable[int | None]) -> int:
        """0 if it raises: other mailings go on. After `MAX_ATTEMPTS` in a row the mailing has
        failed."""
        try:
            result = await work
        except Unavailable:
            raise
        # Part of the job's edge, for one mailing.
        except Exception as error:
            log.exception("mailings.attempt_failed", **key._asdict())
            self._failures[key] += 1
            if self._failures[key] >= MAX_ATTEMPTS:
                del self._failures[key]
                reason = NOT_MADE % {"error": type(error).__name__}
                await self._each(partial(self._progress.fail, reason=reason), [key])
            return 0
        self._failures.pop(key, None)
        return result or 0

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IDLE_SECONDS):
                await self._stopping.wait()

    async def _try_to(self, work: Callable[[], Awaitable[int]]) -> int:
        try:
            return await work()
        except Unavailable:
            log.warning("mailings.database_unavailable")
        # Part of the job's edge: the worker must not die.
        except Exception:
            log.exception("mailings.round_failed")
        return 0

    async def _round(self) -> int:
        """Claims a slice of each mailing; returns how many recipients."""
        await self._each(self._progress.end, await self._queue.ended())
        claimed = 0
        for key, whom in await self._queue.due():
            # Half a slice is left for the connections while the next one is claimed.
            await self._wait_until(SLICE // 2)
            if self._stopping.is_set():
                break
            if self._server_is_gone():
                await self._fail_after_a_day(key)
                continue
            claimed += await self._attempt(key, self._claim(key, whom))
        await self._progress.show()
        return claimed

    async def _claim(self, key: MailingKey, whom: Addressee) -> int:
        forms = await self._forms.get(key)
        if forms is None:
            await self._progress.give_up(key)
            return 0
        claimed = await self._queue.claim(key, whom, SLICE)
        async with contextlib.AsyncExitStack() as on_failure:
            on_failure.push_async_callback(self._queue.release, claimed)
            await self._forms.add(forms, claimed)
            on_failure.pop_all()
        for each in claimed:
            # With a slow mail server a recipient may wait here for longer than its lease, and is
            # claimed again: the lease is new, and the email is the one that waits.
            if _name(each) not in self._in_hand:
                self._in_hand.add(_name(each))
                self._parcels.put_nowait((each, forms))
        return len(claimed)

    async def _give_back(self) -> None:
        waiting = []
        while not self._parcels.empty():
            waiting.append(self._parcels.get_nowait()[0])
        if waiting:
            await self._queue.release(waiting)
        self._done(*waiting)

    async def _wait_until(self, left: int) -> None:
        while len(self._in_hand) > left:
            self._room.clear()
            await self._room.wait()
            if left and self._stopping.is_set():
                return

    def _done(self, *claimed: Claimed) -> None:
        self._in_hand.difference_update(map(_name, claimed))
        self._room.set()

    async def _carry(self) -> None:
        """One connection. When the server refuses it while others are open, it is given up for a
        while, and they get its emails."""
        connection = connection_to(self._transport)
        self._lines.append(connection)
        refusals = 0
        task = asyncio.current_task()
        try:
            # Python 3.11 may lose a cancellation that comes while a connection is opened.
            while task and not task.cancelling():
                try:
                    async with asyncio.timeout(CONNECTION_IDLE_SECONDS):
                        parcel = await self._parcels.get()
                except TimeoutError:
                    await connection.close()
                    continue
                if connection.is_open or self._server_is_gone():
                    is_reached = await self._try_to_deliver(connection, *parcel)
                else:
                    self._parcels.put_nowait(parcel)
                    is_reached = await self._connect(connection)
                self._ledger.expect(sum(each.is_open for each in self._lines))
                refusals = 0 if is_reached else refusals + 1
                if is_reached and connection.is_open:
                    self._gone_since = None
                if refusals and not self._server_is_gone():
                    await asyncio.sleep(GIVEN_UP_SECONDS[min(refusals, len(GIVEN_UP_SECONDS)) - 1])
        finally:
            self._lines.remove(connection)
            await connection.close()

    async def _connect(self, connection: Connection) -> bool:
        async with self._connecting:
            # Meanwhile others may have sent everything, or found that there is no server.
            if self._parcels.empty() or self._server_is_gone():
                return True
            refusal = await connection.open()
        if refusal:
            self._reachable_at(refusal)
            return False
        return True

    async def _try_to_deliver(self, connection: Connection, claimed: Claimed, forms: Forms) -> bool:
        """False if the server was not reached."""
        try:
            return await self._deliver(connection, claimed, forms)
        # Part of the job's edge, for one email: the connection goes on with the next.
        except Exception:
            log.exception("mailings.hand_over_failed", **claimed.key._asdict())
            self._ledger.record(AttemptResult(claimed, RecipientState.UNCERTAIN, BROKEN))
            return True
        finally:
            self._done(claimed)

    async def _deliver(self, connection: Connection, claimed: Claimed, forms: Forms) -> bool:
        if not await self._is_its_turn(claimed):
            return True
        if not await self._ledger.may_hand_over(claimed):
            return True
        try:
            mail_id, mail = forms.compose(claimed)
        # Nothing has left yet.
        except Exception as error:
            is_known = isinstance(error, ValueError)
            if not is_known:
                log.exception("mailings.not_composed", **claimed.key._asdict())
            self._ledger.record(
                AttemptResult(claimed, RecipientState.FAILED, str(error) if is_known else BROKEN)
            )
            return True
        answer = await connection.hand_over(mail_id, mail)
        result = counters.SENT if answer.fate is Fate.TAKEN else counters.FAILED
        counters.MAILS.add(counters.NEWSLETTER, result)
        self._ledger.record(self._result(claimed, answer))
        return answer.fate is not Fate.NO_SERVER

    async def _is_its_turn(self, claimed: Claimed) -> bool:
        """Otherwise it goes back into the queue until then."""
        now = asyncio.get_running_loop().time()
        turn = self._domains.take(claimed.email, now)
        if turn - now <= SOON_SECONDS:
            turn = max(turn, self._turns.take(now))
        if self._server_is_gone():
            turn = max(turn, self._server_is_gone_until)
        wait = turn - now
        if wait > SOON_SECONDS:
            due_at = clock.to_text(self._clock() + timedelta(seconds=wait))
            self._ledger.record(AttemptResult(claimed, RecipientState.PENDING, "", due_at))
            return False
        if wait > 0:
            await asyncio.sleep(wait)
        return True

    def _result(self, claimed: Claimed, answer: Answer) -> AttemptResult:
        now = asyncio.get_running_loop().time()
        reply = _without_address(answer.reply, claimed.email)
        match answer.fate:
            case Fate.TAKEN:
                self._domains.taken(claimed.email)
                return AttemptResult(claimed, RecipientState.SENT)
            case Fate.REFUSED:
                return AttemptResult(
                    claimed, RecipientState.FAILED, reply, is_hard_bounce=answer.is_no_mailbox
                )
            case Fate.UNKNOWN:
                return AttemptResult(claimed, RecipientState.UNCERTAIN, reply)
            case Fate.NO_SERVER:
                due_at = self._reachable_at(reply)
                return AttemptResult(
                    claimed, RecipientState.PENDING, reply, due_at, is_untried=True
                )
            case Fate.LATER:
                self._domains.refused(claimed.email, now)
        if claimed.attempts >= len(RETRY_AFTER):
            return AttemptResult(claimed, RecipientState.FAILED, reply)
        due_at = clock.to_text(self._clock() + RETRY_AFTER[claimed.attempts])
        return AttemptResult(claimed, RecipientState.PENDING, reply, due_at)

    def _reachable_at(self, refusal: str) -> str:
        """Now if another connection is open: the server only takes no more of them."""
        if any(each.is_open for each in self._lines):
            return clock.to_text(self._clock())
        log.warning("mailings.no_server", reason=refusal)
        self._gone_since = self._gone_since or self._clock()
        self._server_is_gone_until = asyncio.get_running_loop().time() + NO_SERVER_SECONDS
        return clock.to_text(self._clock() + timedelta(seconds=NO_SERVER_SECONDS))

    async def _fail_after_a_day(self, key: MailingKey) -> None:
        if self._gone_since and self._clock() - self._gone_since > MAX_GONE:
            await self._each(partial(self._progress.fail, reason=NO_SERVER), [key])

    def _server_is_gone(self) -> bool:
        return asyncio.get_running_loop().time() < self._server_is_gone_until


def _name(claimed: Claimed) -> tuple[MailingKey, str]:
    return claimed.key, claimed.member_id


def _without_address(reply: str, email: str) -> str:
    """Nothing of a person stays here when they are erased."""
    return re.sub(re.escape(email), "…", reply, flags=re.IGNORECASE) if reply else ""
