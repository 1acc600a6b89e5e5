"""The meaning of a list's columns, and the values of a row for a member."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from masthead.base.errors import Invalid
from masthead.base.languages.words import staff_marked, staff_words
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.languages import language_tag_in
from masthead.engine.records.write.validation import check_new
from masthead.faces.importers.dates import utc_text
from masthead.faces.importers.files.csv_rows import CsvTable, Row, is_no, is_yes
from masthead.faces.importers.platforms.member_rows import checked_email
from masthead.features.members.collection import blog_members

FIELDS: Final = {
    "email": staff_words("Email address"),
    "name": staff_words("Name"),
    "note": staff_words("Note"),
    "labels": staff_words("Labels"),
    "newsletter": staff_words("Newsletter"),
    "tier": staff_words("Tier"),
    "status": staff_words("Status"),
    "language": staff_words("Language"),
    "created": staff_words("Joined"),
}
"""The fields that a column can be, with the words for them."""

_KNOWN: Final = {
    "email": ("email", "e_mail", "email_address", "e_mail_address", "mail"),
    "name": ("name", "full_name", "fullname", "display_name", "member_name"),
    "note": ("note", "notes"),
    "labels": ("labels", "label", "tags", "groups"),
    "newsletter": ("newsletter", "subscribed", "subscribed_to_emails", "email_subscribed"),
    "tier": ("tier", "complimentary_plan", "complimentary", "comped", "membership"),
    "language": ("language", "masthead_language", "locale", "lang"),
    "created": ("created", "created_at", "joined", "joined_at", "signup_date", "signed_up"),
}
_OWN: Final = frozenset({"email", "name", "tier", "status", "newsletter", "labels", "created"})
"""The columns of our own list. In other lists `status` means something else."""
_PAID: Final = frozenset({"paid", "premium", "comped", "complimentary", "gift"})
_FREE: Final = frozenset({"free", "none", "basic"})
_STATUSES: Final = frozenset({"active", "cancelled", "past_due"})
_LABEL_MARKS: Final = re.compile("[,;|]")

NO_EMAIL: Final = staff_marked("The row has no email address. Add it, or delete the row.")
BAD_EMAIL: Final = staff_marked("This is not an email address. Correct it.")
REPEATED: Final = staff_marked(
    "An earlier row has the same address, and only that one counts. Delete this row."
)
BAD_NEWSLETTER: Final = staff_marked("Newsletter: write yes or no.")
BAD_TIER: Final = staff_marked("The tier is unknown. Write free or paid.")
BAD_STATUS: Final = staff_marked("The status is unknown. Write active, cancelled or past_due.")
BAD_LANGUAGE: Final = staff_marked("The language is unknown. Write a tag such as en or pt-BR.")
BAD_DATE: Final = staff_marked("Joined: this is not a date in the past. Write it as 2026-11-16.")

Mapped = Mapping[str, str]
"""From the field of a member to the column that has it."""


class MemberRow(Struct, frozen=True):
    number: int
    values: dict[str, Any]
    """Values of the fields whose column is mapped and whose cell is filled."""
    created: str = ""


class BadRow(Struct, frozen=True):
    number: int
    reason: str
    """Without the text of a cell: it is stored longer than the file."""


def guessed(columns: Sequence[str]) -> dict[str, str]:
    """Each field with the column that is called like it."""
    found: dict[str, str] = {}
    for field, names in _KNOWN.items():
        column = next((each for each in names if each in columns), "")
        if column:
            found[field] = column
    if _OWN.issubset(columns):
        found["status"] = "status"
    return found


def member_rows(table: CsvTable, mapped: Mapped, label: str = "") -> Iterator[MemberRow | BadRow]:
    """All rows of the list; of several with the same address the first counts."""
    # Hashes instead of addresses save half of the memory.
    seen: set[int] = set()
    for number, row in table.numbered_rows():
        read = read_row(number, row, mapped, label)
        if isinstance(read, MemberRow):
            key = hash(read.values["email"])
            if key in seen:
                read = BadRow(number, REPEATED)
            seen.add(key)
        yield read


def read_row(number: int, row: Row, mapped: Mapped, label: str = "") -> MemberRow | BadRow:
    cells = {field: row.get(column, "").strip() for field, column in mapped.items()}
    email = checked_email(cells.get("email", ""))
    problems: list[str] = []
    if email is None:
        problems.append(BAD_EMAIL if cells.get("email") else NO_EMAIL)
    values: dict[str, Any] = {"email": email}
    for field, (read, problem) in _CELLS.items():
        if cell := cells.get(field):
            value = read(cell)
            if value is None:
                problems.append(problem)
            else:
                values[field] = value
    if label:
        values["labels"] = list(dict.fromkeys([*values.get("labels", []), label]))
    created = values.pop("created", "")
    if not problems:
        problems = _invalid(values)
    if problems:
        return BadRow(number, " ".join(problems))
    return MemberRow(number, values, created)


def _invalid(values: Mapping[str, Any]) -> list[str]:
    try:
        check_new(blog_members, values, Access.ADMIN)
    except Invalid as error:
        return problems_of(error)
    return []


def problems_of(error: Invalid) -> list[str]:
    return [
        staff_words("%(field)s: %(problem)s", field=FIELDS.get(name, name), problem=each.message)
        for name, each in error.problems.items()
    ]


def _yes_or_no(cell: str) -> bool | None:
    return True if is_yes(cell) else False if is_no(cell) else None


def _tier(cell: str) -> str | None:
    word = cell.lower()
    if word in _PAID or is_yes(word):
        return "paid"
    return "free" if word in _FREE or is_no(word) else None


def _status(cell: str) -> str | None:
    return cell.lower() if cell.lower() in _STATUSES else None


def _labels(cell: str) -> list[str]:
    items = (each.strip() for each in _LABEL_MARKS.split(cell))
    return list(dict.fromkeys(each for each in items if each))


_CELLS: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "name": (str, ""),
    "note": (str, ""),
    "labels": (_labels, ""),
    "newsletter": (_yes_or_no, BAD_NEWSLETTER),
    "tier": (_tier, BAD_TIER),
    "status": (_status, BAD_STATUS),
    "language": (lambda cell: language_tag_in(cell) or None, BAD_LANGUAGE),
    "created": (lambda cell: utc_text(cell) or None, BAD_DATE),
}
"""How a filled cell is read, and the message if it can't be."""
