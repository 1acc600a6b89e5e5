"""What all lists of members have in common: addresses are checked, and repeated ones become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from masthead.email_address import is_email, normal_email
from masthead.importers.files.csv_rows import CsvTable
from masthead.importers.source import BadFile, Skipped, SourceMember

INVALID: Final = "invalid e-mail"
REPEATED: Final = "same e-mail as an earlier row"
MAX_MEMBERS: Final = 1_000_000
MAX_LINES: Final = 2 * MAX_MEMBERS
"""Some lists name everybody twice, and a cell may have lines of its own."""
TOO_MANY: Final = f"The list has more than {MAX_MEMBERS:,} members. Split it into several."
MAX_NAME: Final = 255
"""Characters of a name or a payment id; members have no longer ones."""
_SHOWN: Final = 100

Entry = SourceMember | Skipped


def checked_email(given: str) -> str | None:
    """As members are stored; None for what the service can't write to."""
    email = normal_email(given)
    # Without a dot it is a machine's name, not a place on the internet.
    is_on_the_internet = "." in email.rpartition("@")[2]
    return email if is_on_the_internet and is_email(email) else None


def refused(number: int, email: str) -> Skipped:
    return Skipped("member", f"row {number}", INVALID, title=email.strip()[:_SHOWN])


def refuse_if_too_many(lists: Iterable[CsvTable]) -> None:
    if sum(each.count_lines() for each in lists) > MAX_LINES:
        raise BadFile(TOO_MANY)


class MergedMembers:
    """One member per address: the first row's profile, paid if any row is.

    Two readings, so that little is kept: the first collects what later rows tell of payment, the
    second gives the members. Where a later row pays, it also fills what the first leaves empty:
    the list of payments has no dates, the other one no customers.
    """

    def __init__(self, read: Callable[[], Iterator[Entry]]) -> None:
        self._read = read
        # Hashes instead of addresses: half a million take 40 MB less.
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
    )
