"""Login throttling: limits the failed sign-ins of an account and of a network.

An attempt is counted before the password is checked and refunded if it was right, so that a hundred
concurrent guesses are a hundred attempts. The counts are in the database, for all processes.

Ten failures lock an account for the network that they came from and for no other, so that a
stranger can't lock its owner out. Failures from all networks together have a second, slower limit.
It does not apply to networks from which that very account has signed in before, or has reset its
password by email: failures count by the address, but an account of the same address at another site
makes no network known.
"""

from __future__ import annotations

import hashlib
import math
from datetime import timedelta
from typing import NamedTuple

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.email_address import normal_email
from masthead.base.errors import RateLimited
from masthead.base.languages.words import words
from masthead.identity.limits.networks import network_of
from masthead.identity.limits.tables import login_attempts
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Transaction
from masthead.storage.table_rows import TableRows

WINDOW = timedelta(minutes=15)
LONG_WINDOW = timedelta(hours=1)
ATTEMPTS_PER_PAIR = 10
"""For one account from one network."""
ATTEMPTS_PER_NETWORK = 100
ATTEMPTS_PER_ACCOUNT = 100
"""In the long window, from all networks without an earlier sign-in of the account."""
KNOWN_NETWORK_AGE = timedelta(days=30)
CODES_PER_PAIR = 5
CODES_PER_ACCOUNT = 20
"""Codes of second factors: a person who may guess six digits has the password already."""

RESETS_PER_NETWORK = 10
"""In the long window."""
RESETS_PER_ACCOUNT = 2
"""In the lifetime of a link: when no further mail is sent, an earlier link still works."""
RESET_MAILS_PER_TENANT = 100
"""In the long window, for each collection of accounts."""

FAILURE_ENTRIES_PER_TENANT = 100
"""In the long window: failed sign-ins in the activity log of a site."""

LINKS_PER_NETWORK = 20
"""In the long window: mailed links to sign up or in, asked for at any site."""
LINKS_PER_TENANT = 500
"""In the long window."""
LINKS_PER_ADDRESS = 2
"""In the lifetime of a link to sign in: when no further mail is sent, an earlier link works."""

GUESSES_PER_CODE = 5
"""Guesses for all emailed codes that share an id."""
WRONG_CODES_PER_DAY = 20
"""At one account, from everywhere: a code has only six digits. The link in the same email goes on
working."""
DAY = timedelta(days=1)

WAIT = words(
    "Too many failed sign-ins. Wait a while and try again, or have a new password sent by email."
)
WAIT_FOR_CODE = words("Too many wrong codes. Wait a while and try again.")
WAIT_FOR_RESET = words(
    "Too many new passwords were requested from here. Wait a while and try again."
)

WAIT_FOR_LINK = words("Too many links were requested from here. Wait a while and try again.")
NEW_CODE = words(
    "Too many wrong codes. Wait a while and request a new one, or open the link in the email."
)
SITE_IS_BUSY = words(
    "Too many people are requesting links at the moment. Wait a while and try again."
)


class Limits(NamedTuple):
    per_pair: int
    per_account: int
    sentence: str


PASSWORD_LIMITS = Limits(ATTEMPTS_PER_PAIR, ATTEMPTS_PER_ACCOUNT, WAIT)
CODE_LIMITS = Limits(CODES_PER_PAIR, CODES_PER_ACCOUNT, WAIT_FOR_CODE)


class Attempt(msgspec.Struct, frozen=True):
    """A sign-in to an account from an address.

    The host does not count: otherwise each host would allow ten more guesses. Attempts on unknown
    accounts count the same, so that the limit does not reveal which accounts exist.
    """

    collection: str
    identity: str
    address: str
    account: tuple[str, str] = ("", "")
    """Its tenant and id; empty if there is none, for which the same is looked up."""

    @property
    def account_subject(self) -> str:
        return self._digest("account")

    @property
    def pair_subject(self) -> str:
        return self._digest("account and network", network_of(self.address))

    @property
    def known_subject(self) -> str:
        return _digest("known network", self.collection, *self.account, network_of(self.address))

    @property
    def network_subject(self) -> str:
        return _digest("network", network_of(self.address))

    def _digest(self, kind: str, *more: str) -> str:
        return _digest(kind, self.collection, normal_email(self.identity), *more)


class LoginThrottle:
    def __init__(
        self,
        database: Database,
        now: clock.Clock = clock.now,
        *,
        links_per_tenant: int = LINKS_PER_TENANT,
    ) -> None:
        self._database = database
        self._clock = now
        self._links_per_tenant = links_per_tenant
        t = login_attempts.c
        key = (t.tenant_id == "", t.subject == sa.bindparam("subject"))
        self._end_window = database.compile(
            sa.delete(login_attempts).where(
                *key,
                sa.or_(
                    t.window_ends <= sa.bindparam("now"),
                    # Written while the clock was wrong.
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
        self._refund = database.compile(
            sa.update(login_attempts).where(*key, t.attempts > 0).values(attempts=t.attempts - 1)
        )
        self._rows = TableRows(database, login_attempts)
        self._find_live = database.compile(
            sa.select(t.subject).where(
                *key,
                t.window_ends > sa.bindparam("now"),
                t.window_ends <= sa.bindparam("window_ends"),
            )
        )

    async def admit(self, attempt: Attempt, limits: Limits = PASSWORD_LIMITS) -> None:
        """Counts the attempt, or raises RateLimited with the seconds to wait."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            wait = max(
                await self._count(tx, attempt.network_subject, ATTEMPTS_PER_NETWORK),
                await self._count(tx, attempt.pair_subject, limits.per_pair),
            )
            # A refused attempt is not counted here, so that one network alone can't reach this
            # limit.
            if not wait and not await self._is_known(tx, attempt):
                wait = await self._count(
                    tx, attempt.account_subject, limits.per_account, LONG_WINDOW
                )
        if wait:
            raise RateLimited(wait, limits.sentence)

    async def note_success(self, attempt: Attempt) -> None:
        """Refunds this attempt. Earlier failures stay: an attacker's own account with the same
        email address must not reset the count."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            counted = [attempt.network_subject, attempt.pair_subject]
            if not await self._is_known(tx, attempt):
                counted.append(attempt.account_subject)
            for subject in counted:
                await tx.execute(*self._refund({"subject": subject}))
            await self._remember_network(tx, attempt)

    async def forgive(self, attempt: Attempt) -> None:
        """After a password reset by email: clears the failures from this network, and marks it as
        known. Those from all others stay: they may be about an account at another site."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._rows.delete(_key(attempt.pair_subject)))
            await self._remember_network(tx, attempt)

    async def take_once(self, what: str, lifetime: timedelta) -> bool:
        """Whether this is the first time, in all processes, within the lifetime."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            return not await self._count(tx, _digest("taken", what), 1, lifetime)

    async def admit_reset(self, attempt: Attempt, tenant_id: str) -> bool:
        """Whether an email may be sent to this address. Unknown addresses count the same.

        Raises RateLimited for a network with too many requests.
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
        """Whether the tenant's accounts may get one more reset mail."""
        subject = _digest("reset emails", tenant_id, collection)
        async with self._database.transaction(EVERY_TENANT) as tx:
            return not await self._count(tx, subject, RESET_MAILS_PER_TENANT, LONG_WINDOW)

    async def admit_failure_entry(self, tenant_id: str) -> bool:
        """Whether one more failed sign-in is written to the activity log of the site."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            return not await self._count(
                tx, _digest("failures of", tenant_id), FAILURE_ENTRIES_PER_TENANT, LONG_WINDOW
            )

    async def admit_link(self, attempt: Attempt, tenant_id: str) -> bool:
        """Whether an email may be sent to this address: nobody can fill a mailbox with
        our emails. Unknown addresses count the same.

        Raises RateLimited for a network or a site with too many requests.
        """
        network = _digest("link by", network_of(attempt.address))
        site = _digest("links at", tenant_id)
        email = _digest("link to", tenant_id, normal_email(attempt.identity))
        async with self._database.transaction(EVERY_TENANT) as tx:
            wait = await self._count(tx, network, LINKS_PER_NETWORK, LONG_WINDOW)
            # A network that is refused does not use up what the others have.
            busy = 0 if wait else await self._count(tx, site, self._links_per_tenant, LONG_WINDOW)
            is_enough = bool(wait or busy) or await self._count(tx, email, LINKS_PER_ADDRESS)
        if wait or busy:
            raise RateLimited(wait or busy, WAIT_FOR_LINK if wait else SITE_IS_BUSY)
        return not is_enough

    async def admit_code(self, code_id: str) -> None:
        """Counts a guess, or raises RateLimited. Ids that nobody has got count the same."""
        async with self._database.transaction(EVERY_TENANT) as tx:
            wait = await self._count(tx, _digest("code", code_id), GUESSES_PER_CODE)
        if wait:
            raise RateLimited(wait, NEW_CODE)

    async def admit_codes_of(self, collection: str, tenant_id: str, email: str) -> bool:
        """Counts a guess at an account, and says whether it may be right."""
        subject = _digest("codes of", collection, tenant_id, normal_email(email))
        async with self._database.transaction(EVERY_TENANT) as tx:
            return not await self._count(tx, subject, WRONG_CODES_PER_DAY, DAY)

    async def refund_codes_of(self, collection: str, tenant_id: str, email: str) -> None:
        """The guess was right."""
        subject = _digest("codes of", collection, tenant_id, normal_email(email))
        async with self._database.transaction(EVERY_TENANT) as tx:
            await tx.execute(*self._refund({"subject": subject}))

    async def sweep(self) -> None:
        """Deletes windows that have ended. The worker calls it."""
        await self._rows.sweep("window_ends", self._clock())

    async def _is_known(self, tx: Transaction, attempt: Attempt) -> bool:
        now = self._clock()
        values = {
            "subject": attempt.known_subject,
            "now": clock.to_text(now),
            "window_ends": clock.to_text(now + KNOWN_NETWORK_AGE),
        }
        return bool(await tx.fetch(*self._find_live(values)))

    async def _remember_network(self, tx: Transaction, attempt: Attempt) -> None:
        subject = attempt.known_subject
        await tx.execute(*self._rows.delete(_key(subject)))
        values = {
            **_key(subject),
            "attempts": 0,
            "window_ends": clock.to_text(self._clock() + KNOWN_NETWORK_AGE),
        }
        await tx.execute(*self._rows.insert_missing(values))

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
        await tx.execute(*self._end_window(values))
        await tx.execute(*self._begin_window(values))
        # Counted by the database, so that concurrent attempts don't read the same count.
        ((attempts, window_ends),) = await tx.fetch(*self._count_one({"subject": subject}))
        if attempts <= limit:
            return 0
        left = clock.from_text(window_ends) - now
        return max(math.ceil(left.total_seconds()), 1)


def _key(subject: str) -> dict[str, str]:
    return {"tenant_id": "", "subject": subject}


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
