"""Adds views to the stored counts, in one transaction.

The row with the salt of a site's day is a lock: of several processes, one at a time looks which
readers and sources the day has already, and adds its own."""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from masthead.base.clock import Clock
from masthead.base.errors import DiskFull, MastheadError, StatementTimeout, Unavailable
from masthead.base.ids import TenantId
from masthead.features.statistics.sources import DIRECT, MAX_NAMED, OTHER
from masthead.features.statistics.tables import (
    COUNT_KEY,
    READER_KEY,
    SALT_KEY,
    day_readers,
    day_salts,
    view_counts,
)
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Transaction
from masthead.web.request import Viewed

SITE, POST, PAGE, LIST, SOURCE = "site", "post", "page", "list", "source"
"""The kinds of counts."""
LATE: Final = timedelta(minutes=30)
"""So long after the end of a day, its readers are still recognised. Then its salt is deleted."""
_HASH_BYTES: Final = 12
_UNNAMED: Final = (DIRECT, OTHER)


class View(NamedTuple):
    """A reader's views of one page on a day."""

    tenant_id: TenantId
    day: str
    viewed: Viewed
    source: str
    reader: tuple[str, bytes] | None
    """Address and User-Agent; None for a reader who does not want to be recognised."""
    number: int


class Uncertain(MastheadError):
    message = "The connection broke while the counts were committed."


class ViewStore:
    def __init__(self, database: Database, now: Clock) -> None:
        self._database = database
        self._clock = now
        readers, counts = day_readers.c, view_counts.c
        self._lock = database.compile(_salt_of_day())
        self._known = database.compile(
            sa.select(readers.reader, readers.subject).where(
                readers.tenant_id == sa.bindparam("tenant"),
                readers.day == sa.bindparam("day"),
                dialects.any_of(readers.reader, sa.bindparam("readers")),
            )
        )
        self._remember = database.compile(dialects.insert_missing(day_readers, READER_KEY, ()))
        self._sources = database.compile(
            sa.select(counts.subject).where(
                counts.tenant_id == sa.bindparam("tenant"),
                counts.kind == SOURCE,
                counts.day == sa.bindparam("day"),
            )
        )
        self._add = database.compile(
            dialects.upsert_add(view_counts, COUNT_KEY, "views", "readers")
        )

    async def add(self, views: Iterable[View]) -> None:
        """Raises `Uncertain` if nobody can tell whether they are stored."""
        # In the same order in all processes: they wait for each other's sites.
        ordered = sorted(views, key=_SITE_AND_DAY)
        is_committing = False
        try:
            async with self._database.transaction(EVERY_TENANT) as tx:
                for (tenant_id, day), found in groupby(ordered, key=_SITE_AND_DAY):
                    await self._add_day(tx, tenant_id, day, list(found))
                is_committing = True
        except DiskFull:
            raise
        except (Unavailable, StatementTimeout) as error:
            if is_committing:
                raise Uncertain from error
            raise

    async def _add_day(
        self, tx: Transaction, tenant_id: TenantId, day: str, views: Sequence[View]
    ) -> None:
        salt = b""
        if is_recognising(day, self._clock()):
            given = {"tenant_id": tenant_id, "day": day, "salt": secrets.token_hex(16)}
            ((found,),) = await tx.fetch(*self._lock(given))
            salt = bytes.fromhex(found)
        of_day = {"tenant": tenant_id, "day": day}
        stored = await tx.fetch(*self._sources(of_day))
        views = _with_few_sources(views, {subject for (subject,) in stored})
        readers = await self._new_readers(tx, of_day, views, salt) if salt else Counter[str]()
        counted: Counter[tuple[str, str]] = Counter()
        for view in views:
            for each in _subjects(view):
                counted[each] += view.number
        rows = [
            (tenant_id, kind, day, subject, number, readers[f"{kind}:{subject}"])
            for (kind, subject), number in sorted(counted.items())
        ]
        await tx.execute_many(self._add, rows)

    async def _new_readers(
        self, tx: Transaction, of_day: dict[str, str], views: Sequence[View], salt: bytes
    ) -> Counter[str]:
        """How many each subject has that it did not have before."""
        seen = {
            (_hash(salt, *view.reader), f"{kind}:{subject}")
            for view in views
            if view.reader is not None
            for kind, subject in _subjects(view)
        }
        if not seen:
            return Counter()
        listed = self._database.list_value(sorted({reader for reader, _ in seen}))
        bound = self._known({**of_day, "readers": listed})
        known = {(reader, subject) for reader, subject in await tx.fetch(*bound)}
        new = sorted(seen - known)
        if new:
            await tx.execute_many(self._remember, [(*of_day.values(), *each) for each in new])
        return Counter(subject for _, subject in new)


_SITE_AND_DAY = attrgetter("tenant_id", "day")


def _salt_of_day() -> sa.sql.Insert:
    """The stored one, or the given one for a new day; and the lock of its row."""
    columns: dict[str, Any] = {name: sa.bindparam(name) for name in (*SALT_KEY, "salt")}
    statement = dialects.insert(day_salts).values(columns)
    kept = {"salt": day_salts.c.salt}
    return dialects.or_update(statement, SALT_KEY, kept).returning(day_salts.c.salt)


def is_recognising(day: str, now: datetime) -> bool:
    end = datetime.combine(date.fromisoformat(day), time(), UTC) + timedelta(days=1)
    return now < end + LATE


def _subjects(view: View) -> tuple[tuple[str, str], ...]:
    return (SITE, ""), view.viewed, (SOURCE, view.source)


def _with_few_sources(views: Sequence[View], stored: set[str]) -> list[View]:
    known = stored.difference(_UNNAMED)
    found = []
    for view in views:
        source = view.source
        if source not in known and source not in _UNNAMED:
            if len(known) < MAX_NAMED:
                known.add(source)
            else:
                source = OTHER
        found.append(view._replace(source=source))
    return found


def _hash(salt: bytes, address: str, user_agent: bytes) -> str:
    seen = address.encode() + b"\0" + user_agent
    return hashlib.blake2b(seen, key=salt, digest_size=_HASH_BYTES).hexdigest()
