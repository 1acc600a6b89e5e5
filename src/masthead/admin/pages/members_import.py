"""Members from a CSV: the upload, what its columns mean, a check of its rows, the run."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

import msgspec

from masthead import clock, ids
from masthead.admin.endpoint import Answer, Download, Page, Redirect
from masthead.admin.lists import Option, options
from masthead.admin.pages.members import ADDRESS as MEMBERS
from masthead.admin.pages.members import STATUSES, TIERS
from masthead.admin.pages.members_csv import csv_lines
from masthead.admin.request import AdminRequest
from masthead.errors import NotFound
from masthead.importers.files.csv_rows import CsvTable, Row
from masthead.importers.files.decoding import encoding_name
from masthead.importers.files.uploaded import reopened
from masthead.importers.jobs import MEMBERS_JOB
from masthead.importers.member_csv.collection import (
    ABANDONED_AFTER,
    DONE,
    FAILED,
    MAX_PROBLEMS,
    QUEUED,
    RUNNING,
    STUCK_AFTER,
    UPLOADED,
    member_imports,
)
from masthead.importers.member_csv.rows import FIELDS, BadRow, MemberRow, guessed, member_rows
from masthead.importers.member_csv.run import Chosen
from masthead.importers.member_rows import MAX_MEMBERS, TOO_MANY, checked_email
from masthead.importers.source import BadFile
from masthead.members.collection import blog_members
from masthead.records.collection import Record
from masthead.records.fields.base import FieldError
from masthead.records.read.page import ListRequest
from masthead.records.write.unit import file_key
from masthead.web.multipart import Upload

Item = TypeVar("Item")

ADDRESS = f"{MEMBERS}/import"
CHECKED = 2_000
"""Rows that are checked before the run."""
HEAD_BYTES = 1024 * 1024
"""Of the file, for that check."""
MAX_COLUMNS = 100
SAMPLES = 5
SAMPLED = 100
"""Rows whose cells are shown beside the column."""
SHOWN_PROBLEMS = 50
NEWEST = 10
LONGEST_CELL = 80
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
STATES = {
    UPLOADED: ("draft", "Not started"),
    QUEUED: ("info", "Waiting"),
    RUNNING: ("info", "Running"),
    DONE: ("good", "Done"),
    FAILED: ("bad", "Failed"),
}
NO_FILE = "Choose a file first."
NO_TABLE = "This is a file of a spreadsheet program. Save it there as CSV, and upload that."
NO_COLUMNS = (
    "The first row has an email address. Put a row above it that names the columns, such as email "
    "and name."
)
NO_ROWS = "The file has no row below the names of its columns."
NO_EMAIL = "Choose the column that has the email addresses."


@dataclass(frozen=True, slots=True)
class Column:
    input_name: str
    heading: str
    samples: str
    chosen: str


@dataclass(frozen=True, slots=True)
class Preview:
    columns: list[Column]
    members: list[dict[str, str]]
    """What the first rows say, in the words of the list of members."""
    checked: int
    is_whole: bool
    """All rows were checked."""
    problems: list[BadRow]


@dataclass(frozen=True, slots=True)
class Found:
    """What is learned from a whole file."""

    rows: int
    encoding: str
    delimiter: str
    columns: dict[str, str]


@dataclass(frozen=True, slots=True)
class Line:
    """An import in the list of imports."""

    url: str
    file_name: str
    badge: str
    state: str
    summary: str
    when: str
    at: str


@dataclass(frozen=True, slots=True)
class Typed:
    """What a form says, and what is wrong with it."""

    chosen: Chosen
    fields: dict[str, str] = field(default_factory=dict)
    """By column."""
    problem: str = ""
    label_problem: str = ""


async def upload_form(request: AdminRequest) -> Answer:
    return await _upload_page(request)


async def upload(request: AdminRequest) -> Answer:
    file = next(iter(request.files), None)
    try:
        if file is None or not file.size:
            raise BadFile(NO_FILE)
        found = await asyncio.to_thread(_inspected, file)
    except BadFile as error:
        return await _upload_page(request, str(error))
    import_id = ids.new_id()
    key = file_key(request.tenant_id, member_imports, import_id, "members.csv")
    stamped = {
        "id": import_id,
        "file_name": _file_name(file.filename),
        "object_key": key,
        "encoding": found.encoding,
        "delimiter": found.delimiter,
        "options": {"columns": found.columns},
        "rows": found.rows,
        "expires_at": clock.to_text(request.records.clock() + ABANDONED_AFTER),
    }
    # First the record, so that the file is deleted with it whatever happens.
    async with request.records.unit(request.caller) as unit:
        await unit.create(member_imports, {}, stamped=stamped)
    await request.services.objects.put(key, file.chunks(), content_type="text/csv")
    return Redirect(f"{ADDRESS}/{import_id}")


async def import_page(request: AdminRequest, import_id: str) -> Answer:
    run = await _run(request, import_id)
    if run["status"] == UPLOADED:
        chosen = msgspec.convert(run["options"] or {}, Chosen, strict=False)
        try:
            head = await _head_of(request, run)
        except (NotFound, BadFile) as error:
            return await _upload_page(request, str(error))
        return await _mapping_page(request, run, head, Typed(chosen))
    values = {"run": run, **_report(request, run), "back": ADDRESS}
    return Page(
        "members/import-run.html", "Import members", values, fragment="members/_import.html"
    )


async def choose(request: AdminRequest, import_id: str) -> Answer:
    """Saves what the columns mean; `do` says whether the import begins."""
    run = await _run(request, import_id)
    address = f"{ADDRESS}/{import_id}"
    if run["status"] != UPLOADED:
        return Redirect(address, "The import has begun already.")
    try:
        head = await _head_of(request, run)
    except (NotFound, BadFile) as error:
        return await _upload_page(request, str(error))
    typed = _typed(request.form, _columns(head.table))
    if typed.problem or typed.label_problem:
        return await _mapping_page(request, run, head, typed)
    stamped: dict[str, Any] = {"options": msgspec.to_builtins(typed.chosen)}
    is_run = request.form.get("do") == "run"
    async with request.records.unit(request.caller, emit_events=False) as unit:
        [current] = await unit.find(member_imports, {"id": import_id}, limit=1) or [run]
        if is_run and current["status"] == UPLOADED:
            until = request.records.clock() + STUCK_AFTER
            stamped |= {"status": QUEUED, "expires_at": clock.to_text(until)}
            await unit.enqueue(MEMBERS_JOB, {"import_id": import_id})
        if current["status"] == UPLOADED:
            await unit.update(member_imports, import_id, {}, stamped=stamped)
    return Redirect(address)


async def discard(request: AdminRequest, import_id: str) -> Answer:
    run = await _run(request, import_id)
    if run["status"] in (QUEUED, RUNNING):
        return Redirect(f"{ADDRESS}/{import_id}", "The import has begun already.")
    await request.records.delete(request.caller, member_imports, import_id)
    return Redirect(ADDRESS, "The import is deleted, with its file.")


async def download_errors(request: AdminRequest, import_id: str) -> Answer:
    problems = _problems(await _run(request, import_id))

    async def chunks() -> AsyncIterator[bytes]:
        yield csv_lines([("row", "problem"), *((str(row), why) for row, why in problems)])

    return Download(chunks(), "members-errors.csv", "text/csv; charset=utf-8")


async def _run(request: AdminRequest, import_id: str) -> Record:
    """By the caller's rights, and then whole: nobody may read where the file is."""
    await request.records.get(request.caller, member_imports, import_id)
    found = await request.records.find(
        member_imports, {"id": import_id}, tenant_id=request.tenant_id
    )
    if not found:
        raise NotFound
    return found[0]


async def _upload_page(request: AdminRequest, problem: str = "") -> Page:
    wanted = ListRequest(per_page=NEWEST, sort="-created", skip_total=True)
    found = (await request.records.page(request.caller, member_imports, wanted)).items
    values = {
        "problem": problem,
        "imports": [_line(request, each) for each in found],
        "back": MEMBERS,
    }
    status = 422 if problem else 200
    return Page("members/import.html", "Import members", values, status=status)


def _line(request: AdminRequest, run: Record) -> Line:
    badge, state = STATES[run["status"]]
    parts = [
        f"{run[name]:,} {word}"
        for name, word in (("added", "added"), ("changed", "updated"), ("refused", "with errors"))
        if run[name]
    ]
    return Line(
        f"{ADDRESS}/{run['id']}",
        run["file_name"] or "No name",
        badge,
        state,
        ", ".join(parts) or f"{run['rows']:,} rows",
        request.when(run["created"]),
        run["created"],
    )


def _inspected(file: Upload) -> Found:
    """Reads all of it once, so that a file that breaks off is refused before the run."""
    if file.head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise BadFile(NO_TABLE)
    opened = reopened(file.file)
    table = CsvTable(opened)
    columns = _columns(table)
    if any(checked_email(each) for each in columns.values()):
        raise BadFile(NO_COLUMNS)
    if len(columns) > MAX_COLUMNS:
        raise BadFile(f"The list has more than {MAX_COLUMNS} columns. Delete those without use.")
    rows = 0
    for _ in table.numbered_rows():
        rows += 1
        if rows > MAX_MEMBERS:
            raise BadFile(TOO_MANY)
    if not rows:
        raise BadFile(NO_ROWS)
    with opened() as stream:
        encoding = encoding_name(stream)
    return Found(rows, encoding, table.delimiter, guessed(tuple(columns)))


def _columns(table: CsvTable) -> dict[str, str]:
    """The names of the columns, as the reader knows them, with the words of the file."""
    pairs = zip(reversed(table.columns), reversed(table.headings), strict=True)
    # Of two with the same name the first is read.
    return dict(reversed({name: heading for name, heading in pairs if name}.items()))


def _file_name(given: str) -> str:
    return "".join(each for each in given if each.isprintable())[-255:]


@dataclass(frozen=True, slots=True)
class Head:
    table: CsvTable
    is_cut: bool


async def _head_of(request: AdminRequest, run: Record) -> Head:
    """The start of the uploaded file."""
    try:
        stored = await request.services.objects.get(run["object_key"], byte_range=(0, HEAD_BYTES))
    except NotFound as error:
        raise NotFound("The uploaded file is gone. Upload it again.") from error
    head = b"".join([chunk async for chunk in stored.chunks])
    table = await asyncio.to_thread(CsvTable, lambda: io.BytesIO(head))
    return Head(table, is_cut=stored.size > len(head))


async def _mapping_page(request: AdminRequest, run: Record, head: Head, typed: Typed) -> Page:
    preview = await asyncio.to_thread(_preview, request, run, head, typed)
    chosen = typed.chosen
    is_refused = bool(typed.problem or typed.label_problem)
    values = {
        "run": run,
        "preview": preview,
        "delimiter": DELIMITERS.get(run["delimiter"], run["delimiter"]),
        "fields": _field_options(),
        "label": chosen.label,
        "problem": typed.problem or ("" if "email" in chosen.columns else NO_EMAIL),
        "label_problem": typed.label_problem,
        "is_refused": is_refused,
        "has_newsletter": "newsletter" in chosen.columns,
        "shown_problems": SHOWN_PROBLEMS,
        "back": ADDRESS,
    }
    status = 422 if is_refused else 200
    return Page("members/import-columns.html", "Import members", values, status=status)


def _field_options() -> list[Option]:
    return [Option("", "Leave out"), *options(FIELDS)]


def _preview(request: AdminRequest, run: Record, head: Head, typed: Typed) -> Preview:
    mapped, table = typed.chosen.columns, head.table
    rows = list(islice(_whole(table.rows(), is_cut=head.is_cut), SAMPLED))
    checked: list[MemberRow | BadRow] = []
    if "email" in mapped:
        read = member_rows(table, mapped, typed.chosen.label)
        checked = list(islice(_whole(read, is_cut=head.is_cut), CHECKED))
    by_column = typed.fields or {column: name for name, column in mapped.items()}
    good = [each for each in checked if isinstance(each, MemberRow)]
    return Preview(
        [
            Column(f"column.{number}", heading, _samples(rows, name), by_column.get(name, ""))
            for number, (name, heading) in enumerate(_columns(table).items())
        ],
        [_shown(request, each) for each in good[:SAMPLES]],
        len(checked),
        len(checked) == run["rows"],
        [each for each in checked if isinstance(each, BadRow)],
    )


def _whole(items: Iterator[Item], *, is_cut: bool) -> Iterator[Item]:
    """Of the start of a file, without the last row, which may be half a one. That all of the file
    can be read was checked when it was uploaded."""
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


def _samples(rows: Sequence[Row], column: str) -> str:
    found = dict.fromkeys(row[column].strip() for row in rows)
    filled = [each for each in found if each][:3]
    return " · ".join(_short(each) for each in filled)


def _short(cell: str) -> str:
    line = " ".join(cell[: 2 * LONGEST_CELL].split())
    return line if len(line) <= LONGEST_CELL else f"{line[:LONGEST_CELL]}…"


def _shown(request: AdminRequest, row: MemberRow) -> dict[str, str]:
    values = row.values
    joined = request.local(row.created) if row.created else None
    return {
        "email": values["email"],
        "name": values.get("name", ""),
        "note": _short(values.get("note", "")),
        "labels": ", ".join(values.get("labels", [])),
        "newsletter": "Yes" if values.get("newsletter") else "No",
        "tier": TIERS[values.get("tier", "free")],
        "status": STATUSES[values.get("status", "active")],
        "created": f"{joined.day} {joined:%b %Y}" if joined else "Today",
    }


def _typed(form: dict[str, str], columns: dict[str, str]) -> Typed:
    fields: dict[str, str] = {}
    chosen: dict[str, str] = {}
    problem = ""
    for number, (name, _) in enumerate(columns.items()):
        wanted = form.get(f"column.{number}", "")
        if wanted not in FIELDS:
            continue
        fields[name] = wanted
        if wanted in chosen:
            problem = f"Two columns are set to {FIELDS[wanted]}. Leave one of them out."
        chosen.setdefault(wanted, name)
    if "email" not in chosen:
        problem = NO_EMAIL
    label = form.get("label", "").strip()
    return Typed(Chosen(chosen, label), fields, problem, _label_problem(label))


def _label_problem(label: str) -> str:
    if not label:
        return ""
    try:
        blog_members.by_name["labels"].check([label])
    except FieldError as error:
        return error.problem.message
    return ""


def _report(request: AdminRequest, run: Record) -> dict[str, Any]:
    badge, state = STATES[run["status"]]
    problems = _problems(run)
    return {
        "badge_kind": badge,
        "state": state,
        "is_over": run["status"] in (DONE, FAILED),
        "tally": [
            ("Added", run["added"]),
            ("Updated", run["changed"]),
            ("Without change", run["unchanged"]),
            ("With errors", run["refused"]),
        ],
        "problems": problems[:SHOWN_PROBLEMS],
        "problem_count": len(problems),
        "max_problems": MAX_PROBLEMS,
        "url": f"{ADDRESS}/{run['id']}",
        "uploaded": request.when(run["created"]),
        "finished": request.when(run["finished_at"]) if run["finished_at"] else "",
    }


def _problems(run: Record) -> list[tuple[int, str]]:
    return msgspec.convert(run["problems"] or [], list[tuple[int, str]])
