"""Checks a list of members before its import: the whole file once when it is uploaded, and its
first rows each time a person says what the columns mean."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeVar

import msgspec

from masthead.base.languages.words import staff_words
from masthead.engine.records.fields.base import FieldError
from masthead.faces.importers.files.csv_rows import CsvTable, Row
from masthead.faces.importers.files.decoding import encoding_name
from masthead.faces.importers.files.uploaded import reopened
from masthead.faces.importers.member_csv.rows import FIELDS, BadRow, MemberRow, guessed, member_rows
from masthead.faces.importers.member_csv.run import ChosenOptions
from masthead.faces.importers.platforms.member_rows import MAX_MEMBERS, TOO_MANY, checked_email
from masthead.faces.importers.source import BadFile
from masthead.features.members.collection import blog_members
from masthead.web.multipart import Upload

Item = TypeVar("Item")

CHECKED: Final = 2_000
"""Rows that are checked before the run."""
SAMPLED: Final = 100
"""Rows whose cells are shown next to the column."""
MAX_COLUMNS: Final = 100
NO_TABLE: Final = staff_words(
    "This is a file of a spreadsheet program. Save it there as CSV, and upload that."
)
NO_COLUMNS: Final = staff_words(
    "The first row has an email address. Put a row above it that names the columns, such as email "
    "and name."
)
NO_ROWS: Final = staff_words("The file has no row below the names of its columns.")
NO_CONSENT: Final = staff_words("Say how they agreed, or leave out the column of the newsletter.")
MAX_CONSENT: Final = 400
NO_EMAIL: Final = staff_words("Choose the column that has the email addresses.")
_SPREADSHEETS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")


class CheckedFile(msgspec.Struct, frozen=True):
    """The results of reading the whole file."""

    rows: int
    encoding: str
    delimiter: str
    columns: dict[str, str]
    """The field of a member that each column seems to be."""


class Head(msgspec.Struct, frozen=True):
    """The start of an uploaded file."""

    table: CsvTable
    is_cut: bool


class Checked(msgspec.Struct, frozen=True):
    """The first rows of a list, read with the chosen columns."""

    samples: list[Row]
    members: list[MemberRow]
    problems: list[BadRow]

    @property
    def count(self) -> int:
        return len(self.members) + len(self.problems)


class ColumnChoice(msgspec.Struct, frozen=True):
    """A person's choice of columns, and what is wrong with it."""

    chosen: ChosenOptions
    problem: str = ""
    label_problem: str = ""
    consent_problem: str = ""

    @property
    def is_valid(self) -> bool:
        return not (self.problem or self.label_problem or self.consent_problem)


def inspect_list(file: Upload) -> CheckedFile:
    """Reads the whole file once, so that a truncated one is refused before the run."""
    if file.head.startswith(_SPREADSHEETS):
        raise BadFile(NO_TABLE)
    opened = reopened(file.file)
    table = CsvTable(opened)
    columns = columns_of(table)
    if any(checked_email(each) for each in columns.values()):
        raise BadFile(NO_COLUMNS)
    if len(columns) > MAX_COLUMNS:
        raise BadFile(
            staff_words(
                "The list has more than %(number)s columns. Delete the unused ones.",
                number=MAX_COLUMNS,
            )
        )
    rows = 0
    for _ in table.numbered_rows():
        rows += 1
        if rows > MAX_MEMBERS:
            raise BadFile(TOO_MANY)
    if not rows:
        raise BadFile(NO_ROWS)
    with opened() as stream:
        encoding = encoding_name(stream)
    return CheckedFile(rows, encoding, table.delimiter, guessed(tuple(columns)))


def columns_of(table: CsvTable) -> dict[str, str]:
    """The names of the columns, as the reader knows them, with the words of the file."""
    pairs = zip(reversed(table.columns), reversed(table.headings), strict=True)
    # Of two with the same name, the first is read.
    return dict(reversed({name: heading for name, heading in pairs if name}.items()))


def check_rows(head: Head, chosen: ChosenOptions) -> Checked:
    """Without a column of email addresses no row is checked, and only samples are read."""
    table, is_cut = head.table, head.is_cut
    samples = list(islice(_complete(table.rows(), is_cut=is_cut), SAMPLED))
    read: list[MemberRow | BadRow] = []
    if "email" in chosen.columns:
        rows = member_rows(table, chosen.columns, chosen.label)
        read = list(islice(_complete(rows, is_cut=is_cut), CHECKED))
    return Checked(
        samples,
        [each for each in read if isinstance(each, MemberRow)],
        [each for each in read if isinstance(each, BadRow)],
    )


def check_choice(fields: dict[str, str], label: str, consent: str, *, start: bool) -> ColumnChoice:
    """`fields` has the field that a person chose for each column. To start an import of readers of
    newsletters it must be said how they agreed."""
    columns: dict[str, str] = {}
    problem = ""
    for column, field in fields.items():
        if field in columns:
            problem = staff_words(
                "Two columns are set to %(field)s. Leave one of them out.", field=FIELDS[field]
            )
        columns.setdefault(field, column)
    if "email" not in columns:
        problem = NO_EMAIL
    is_asked = start and "newsletter" in columns and not consent
    return ColumnChoice(
        ChosenOptions(columns, label, consent[:MAX_CONSENT]),
        problem,
        _label_problem(label),
        NO_CONSENT if is_asked else "",
    )


def _label_problem(label: str) -> str:
    if not label:
        return ""
    try:
        blog_members.by_name["labels"].check([label])
    except FieldError as error:
        return error.problem.message
    return ""


def _complete(items: Iterator[Item], *, is_cut: bool) -> Iterator[Item]:
    """All rows; for the start of a file, all except the last, which may be incomplete. The upload
    has checked that the whole file can be read."""
    held: list[Item] = []
    try:
        for item in items:
            yield from held
            held = [item]
    except BadFile:
        if not is_cut:
            raise
    if not is_cut:
        yield from held
