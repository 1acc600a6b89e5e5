"""Login throttling: how often an account and a network may try before they have to wait.

An attempt is counted before the password is looked at and given back when it was right, so that a
hundred guesses sent at once are a hundred attempts. The counts live in the database and hold for
every process.

Ten failures lock an account for the network that they came from and for no other, so that a
stranger can't lock its owner out. Failures from many networks together reach a second, slower
limit. It does not hold for networks where the account has signed in before, and a password that was
reset by mail makes a network such a one.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy import Column, PrimaryKeyConstraint, Table

from masthead import clock
from masthead.email_address import normal_email
from masthead.errors import RateLimited
from masthead.limits.networks import network_of
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Transaction
from masthead.storage.metadata import metadata

login_attempts = Table(
    "login_attempts",
    metadata,
    Column("tenant_id", dialects.Text(), nullable=False),
    # A digest: nobody's address or e-mail is kept for having mistyped a password.
    Column("subject", dialects.Text(), nullable=False),
    Column("attempts", dialects.Integer(), nullable=False),
    Column("window_ends", dialects.Text(), nullable=False),
    PrimaryKeyConstraint("tenant_id", "subject"),
)

WINDOW = timedelta(minutes=15)
LONG_WINDOW = timedelta(hours=1)
ATTEMPTS_PER_PLACE = 10
"""At one account from one network."""
ATTEMPTS_PER_NETWORK = 100
ATTEMPTS_PER_ACCOUNT = 100
"""Within the long window, from all networks that the account has not signed in from."""
KNOWN_FOR = timedelta(days=30)

RESETS_PER_NETWORK = 10
"""Within the long window."""
RESETS_PER_ACCOUNT = 2
"""Within the time that a link lives: an address that gets no further mail has a link that works."""
RESET_MAILS_PER_TENANT = 100
"""Within the long window, for each kind of account."""

WAIT = "Too many failed sign-ins. Wait a while and try again, or have a new password sent by mail."
WAIT_FOR_RESET = "Too many new passwords were asked for from here. Wait a while and try again."


@dataclass(frozen=True, slots=True)
class Attempt:
    """Who tries to sign in, from where.

    The host plays no part: there must not be ten more guesses on each of them, and counting those
    of a known account otherwise than those of an unknown one would tell which exist.
    """

    collection: str
    identity: str
    address: str

    @property
    def account_subject(self) -> str:
        return self._digest("account")

    @property
    def place_subject(self) -> str:
        return self._digest("account and network", network_of(self.address))

    @property
    def known_subject(self) -> str:
        return self._digest("known network", network_of(self.address))

    @property
    def network_subject(self) -> str:
        return _digest("network", network_of(self.address))

    def _digest(self, kind: str, *more: str) -> str:
        return _digest(kind, self.collection, normal_email(self.identity), *more)


class LoginThrottle:
    def __init__(self, database: Database, now: clock.Clock = clock.now) -> None:
        self._database = database
        self._clock = now
        t = login_attempts.c
        key = (t.tenant_id == "", t.subject == sa.bindparam("subject"))
        self._end_window = database.compile(
            sa.delete(login_attempts).where(
                *key,
                sa.or_(
                    t.window_ends <= sa.bindparam("now"),
                    # Nobody waits until the day that a clock which was wrong took it for.
                    t.window_ends > sa.bindparam("window_ends"),
                ),
            )
        )
        self._begin_window = database.compile(
            dialects.insert_missing(
                login_attempts, ("tenant_id", "subject"), ("attempts", "window_ends")
            )
        )
        self._count_one = database.compile(
            sa.update(login_attempts)
            .where(*key)
            .values(attempts=t.attempts + 1)
            .returning(t.attempts, t.window_ends)
        )
        self._give_back = database.compile(
            sa.update(login_attempts).where(*key, t.attempts > 0).values(attempts=t.attempts - 1)
        )
        self._drop = database.compile(sa.delete(login_attempts).where(*key))
        self._find_live = database.compile(
            sa.select(t.subject).where(
                *key,
                t.window_ends > sa.bindparam("now"),
                t.window_ends <= sa.bindparam("window_ends"),
            )
        )
        self._sweep = database.compile(
            sa.delete(login_attempts).where(t.window_ends < sa.bindparam("now"))
        )

    async def admit(self, attempt: Attempt) -> None:
        """Counts the attempt, or raises RateLimited with the seconds to wait."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            wait = max(
                await self._count(tx, attempt.network_subject, ATTEMPTS_PER_NETWORK),
                await self._count(tx, attempt.place_subject, ATTEMPTS_PER_PLACE),
            )
            # What was refused here is not counted there: one network alone never reaches it.
            if not wait and not await self._is_known(tx, attempt):
                wait = await self._count(
                    tx, attempt.account_subject, ATTEMPTS_PER_ACCOUNT, LONG_WINDOW
                )
        if wait:
            raise RateLimited(wait, WAIT)

    async def succeeded(self, attempt: Attempt) -> None:
        """Gives back this one attempt. The failures before it stay: another account of the same
        e-mail address, of which the password is known, must not wipe out guesses at this one."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            counted = [attempt.network_subject, attempt.place_subject]
            if not await self._is_known(tx, attempt):
                counted.append(attempt.account_subject)
            for subject in counted:
                await tx.execute(self._give_back, self._give_back.bind({"subject": subject}))
            await self._remember_network(tx, attempt)

    async def forgive(self, attempt: Attempt) -> None:
        """After a new password that was set by mail: the account starts anew, and the network that
        it was set from can sign in whatever others do."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            for subject in (attempt.place_subject, attempt.account_subject):
                await tx.execute(self._drop, self._drop.bind({"subject": subject}))
            await self._remember_network(tx, attempt)

    async def admit_reset(self, attempt: Attempt, tenant_id: str) -> bool:
        """Whether a mail may go to this address; counted alike whether it has an account or not.

        Raises RateLimited for a network that asks too often.
        """
        network = _digest("reset by", network_of(attempt.address))
        email = normal_email(attempt.identity)
        account = _digest("reset", tenant_id, attempt.collection, email)
        async with self._database.transaction(EVERY_TENANT) as tx:
            wait = await self._count(tx, network, RESETS_PER_NETWORK, LONG_WINDOW)
            is_enough = bool(wait) or await self._count(tx, account, RESETS_PER_ACCOUNT)
        if wait:
            raise RateLimited(wait, WAIT_FOR_RESET)
        return not is_enough

    async def admit_reset_mail(self, collection: str, tenant_id: str) -> bool:
        """Whether the tenant's accounts may get one more mail of this kind by now."""
        subject = _digest("reset mails", tenant_id, collection)
        async with self._database.transaction(EVERY_TENANT) as tx:
            return not await self._count(tx, subject, RESET_MAILS_PER_TENANT, LONG_WINDOW)

    async def sweep(self) -> None:
        """Drops windows that are over; the worker calls it now and then."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            now = clock.to_text(self._clock())
            await tx.execute(self._sweep, self._sweep.bind({"now": now}), slow=True)

    async def _is_known(self, tx: Transaction, attempt: Attempt) -> bool:
        now = self._clock()
        values = {
            "subject": attempt.known_subject,
            "now": clock.to_text(now),
            "window_ends": clock.to_text(now + KNOWN_FOR),
        }
        return bool(await tx.fetch(self._find_live, self._find_live.bind(values)))

    async def _remember_network(self, tx: Transaction, attempt: Attempt) -> None:
        subject = attempt.known_subject
        await tx.execute(self._drop, self._drop.bind({"subject": subject}))
        values = {
            "tenant_id": "",
            "subject": subject,
            "attempts": 0,
            "window_ends": clock.to_text(self._clock() + KNOWN_FOR),
        }
        await tx.execute(self._begin_window, self._begin_window.bind(values))

    async def _count(
        self, tx: Transaction, subject: str, limit: int, window: timedelta = WINDOW
    ) -> int:
        """Seconds to wait, 0 when admitted. Refused attempts do not prolong the wait."""
        now = self._clock()
        values = {
            "tenant_id": "",
            "subject": subject,
            "attempts": 0,
            "window_ends": clock.to_text(now + window),
            "now": clock.to_text(now),
        }
        await tx.execute(self._end_window, self._end_window.bind(values))
        await tx.execute(self._begin_window, self._begin_window.bind(values))
        # Counted where it is kept: attempts of the same moment can't read the same count.
        ((attempts, window_ends),) = await tx.fetch(
            self._count_one, self._count_one.bind({"subject": subject})
        )
        if attempts <= limit:
            return 0
        left = clock.from_text(window_ends) - now
        return max(math.ceil(left.total_seconds()), 1)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
