"""Login throttling: how often an account and an address may try before they have to wait.

An attempt is counted before the password is looked at and given back when it was right, so that a
hundred guesses sent at once are a hundred attempts. The counts live in the database and hold for
every process.
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
from masthead.identity.networks import network_of
from masthead.identity.tenants import superusers
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
ATTEMPTS_PER_ACCOUNT = 10
ATTEMPTS_PER_ADDRESS = 100


@dataclass(frozen=True, slots=True)
class Attempt:
    """Who tries to sign in, from where; `tenant_id` is '' when the host names none."""

    tenant_id: str
    collection: str
    identity: str
    address: str

    @property
    def account_subject(self) -> str:
        # Operators sign in on any host: there must not be ten more guesses on each of them.
        tenant_id = "" if self.collection == superusers.name else self.tenant_id
        return _digest("account", tenant_id, self.collection, normal_email(self.identity))

    @property
    def address_subject(self) -> str:
        return _digest("address", network_of(self.address))


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
        self._sweep = database.compile(
            sa.delete(login_attempts).where(t.window_ends < sa.bindparam("now"))
        )

    async def admit(self, attempt: Attempt) -> None:
        """Counts the attempt, or raises RateLimited with the seconds to wait."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            waits = [
                await self._count(tx, attempt.address_subject, ATTEMPTS_PER_ADDRESS),
                await self._count(tx, attempt.account_subject, ATTEMPTS_PER_ACCOUNT),
            ]
        if max(waits) > 0:
            raise RateLimited(max(waits), "Too many failed sign-ins. Wait a while and try again.")

    async def succeeded(self, attempt: Attempt) -> None:
        """Gives back this one attempt. The failures before it stay: another account of the same
        e-mail address, of which the password is known, must not wipe out guesses at this one."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            for subject in (attempt.address_subject, attempt.account_subject):
                await tx.execute(self._give_back, self._give_back.bind({"subject": subject}))

    async def sweep(self) -> None:
        """Drops windows that are over; the worker calls it now and then."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            now = clock.to_text(self._clock())
            await tx.execute(self._sweep, self._sweep.bind({"now": now}), slow=True)

    async def _count(self, tx: Transaction, subject: str, limit: int) -> int:
        """Seconds to wait, 0 when admitted. Refused attempts do not prolong the wait."""
        now = self._clock()
        values = {
            "tenant_id": "",
            "subject": subject,
            "attempts": 0,
            "window_ends": clock.to_text(now + WINDOW),
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
