"""Common to all lists of members: checks addresses and merges repeated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from masthead.base.email_address import is_email, normal_email
from masthead.base.languages.words import staff_marked, staff_words
from masthead.faces.importers.files.csv_rows import CsvTable
from masthead.faces.importers.source import BadFile, Skipped, SourceMember

INVALID: Final = staff_marked("invalid email address")
REPEATED: Final = staff_marked("same email address as an earlier row")
MAX_MEMBERS: Final = 1_000_000
MAX_LINES: Final = 2 * MAX_MEMBERS
"""Some lists have every member twice, and a cell may contain line breaks."""
TOO_MANY: Final = staff_words(
    "The list has more than %(number)s members. Split it into several.", number=f"{MAX_MEMBERS:,}"
)
MAX_NAME: Final = 255
"""Characters of a name or a payment id, as in the fields of a member."""
_SHOWN: Final = 100

Entry = SourceMember | Skipped


def checked_email(given: str) -> str | None:
    """As it is stored; None for an invalid address."""
    email = normal_email(given)
    # A host without a dot is a local machine.
    is_public_host = "." in email.rpartition("@")[2]
    return email if is_public_host and is_email(email) else None


def refused(number: int, email: str) -> Skipped:
    return Skipped("member", f"row {number}", INVALID, title=email.strip()[:_SHOWN])


def refuse_if_too_many(lists: Iterable[CsvTable]) -> None:
    if sum(each.count_lines() for each in lists) > MAX_LINES:
        raise BadFile(TOO_MANY)


class MergedMembers:
    """One member per address: the profile of the first row, paid if any row is.

    Reads twice to save memory: the first pass collects later rows with a payment, the second
    yields the members. A later row with a payment also fills empty values of the first, because
    lists of payments have no dates, and other lists have no customers.
    """

    def __init__(self, read: Callable[[], Iterator[Entry]]) -> None:
        self._read = read
        # Hashes instead of addresses save 40 MB for half a million.
        seen: set[int] = set()
        self._later: dict[int, SourceMember | None] = {}
        for entry in read():
            if isinstance(entry, SourceMember):
                key = hash(entry.email)
                if key in seen:
                    self._add_later(key, entry)
                seen.add(key)
                if len(seen) > MAX_MEMBERS:
                    raise BadFile(TOO_MANY)
        self.count = len(seen)

    def __iter__(self) -> Iterator[Entry]:
        given: set[int] = set()
        for entry in self._read():
            key = hash(entry.email) if isinstance(entry, SourceMember) else None
            if isinstance(entry, Skipped) or key not in self._later:
                yield entry
            elif key in given:
                yield Skipped("member", entry.email, REPEATED)
            else:
                given.add(key)
                later = self._later[key]
                yield _joined(entry, later) if later else entry

    def _add_later(self, key: int, entry: SourceMember) -> None:
        earlier = self._later.setdefault(key, None)
        if entry.tier == "paid" or entry.payment_customer_id:
            self._later[key] = _joined(earlier, entry) if earlier else entry


def _joined(first: SourceMember, later: SourceMember) -> SourceMember:
    return replace(
        first,
        name=first.name or later.name,
        tier="paid" if "paid" in (first.tier, later.tier) else "free",
        payment_customer_id=first.payment_customer_id or later.payment_customer_id,
        created=first.created or later.created,
        levels=first.levels or later.levels,
    )
