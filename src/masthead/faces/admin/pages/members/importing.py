"""Members from a CSV: the pages of the upload, of its columns, of the run and of its report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from masthead.base.errors import Conflict, NotFound
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Download, Page, Redirect
from masthead.faces.admin.environment import day, number
from masthead.faces.admin.pages.members.download import csv_lines
from masthead.faces.admin.pages.members.listing import ADDRESS as MEMBERS
from masthead.faces.admin.pages.members.listing import STATUSES, TIERS
from masthead.faces.admin.request import AdminRequest
from masthead.faces.importers.files.csv_rows import Row
from masthead.faces.importers.member_csv.actions import (
    STARTED,
    choose_columns,
    chosen_columns,
    discard_list,
    find_import,
    read_head,
    upload_list,
)
from masthead.faces.importers.member_csv.checking import (
    NO_EMAIL,
    ColumnChoice,
    Head,
    check_choice,
    check_rows,
    columns_of,
)
from masthead.faces.importers.member_csv.collection import (
    DONE,
    FAILED,
    MAX_PROBLEMS,
    QUEUED,
    RUNNING,
    UPLOADED,
    member_imports,
)
from masthead.faces.importers.member_csv.rows import FIELDS, BadRow, MemberRow
from masthead.faces.importers.source import BadFile

ADDRESS = f"{MEMBERS}/import"
SAMPLES = 5
SHOWN_PROBLEMS = 50
NEWEST = 10
LONGEST_CELL = 80
DELIMITERS = {
    **{",": words("commas"), ";": words("semicolons")},
    **{"\t": words("tabs"), "|": words("bars")},
}
STATES = {
    UPLOADED: ("draft", words("Not started")),
    QUEUED: ("info", words("Waiting")),
    RUNNING: ("info", words("Running")),
    DONE: ("good", words("Done")),
    FAILED: ("bad", words("Failed")),
}


class Column(msgspec.Struct, frozen=True):
    input_name: str
    heading: str
    samples: str
    chosen: str


class Preview(msgspec.Struct, frozen=True):
    columns: list[Column]
    members: list[dict[str, str]]
    """The first rows, in the words of the list of members."""
    checked: int
    is_whole: bool
    """All rows were checked."""
    problems: list[BadRow]


class Typed(msgspec.Struct, frozen=True):
    """A form, read and checked."""

    choice: ColumnChoice
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    """Fields by column."""


async def upload(request: AdminRequest) -> Answer:
    file = next(iter(request.files), None)
    try:
        import_id = await upload_list(request.services, request.caller, file)
    except BadFile as error:
        return await upload_form(request, str(error))
    return Redirect(f"{ADDRESS}/{import_id}")


async def import_page(request: AdminRequest, import_id: str) -> Answer:
    run = await find_import(request.records, request.caller, import_id)
    if run["status"] == UPLOADED:
        try:
            head = await read_head(request.services.objects, run)
        except (NotFound, BadFile) as error:
            return await upload_form(request, str(error))
        return await _mapping_page(request, run, head, Typed(ColumnChoice(chosen_columns(run))))
    shown = run | {"error": retold(run["error"])}
    values = {"run": shown, **_report(request, run), "back": ADDRESS}
    return Page(
        "members/import-run.html", words("Import members"), values, fragment="members/_import.html"
    )


async def choose(request: AdminRequest, import_id: str) -> Answer:
    """Saves what the columns mean; `do` says whether the import starts."""
    run = await find_import(request.records, request.caller, import_id)
    address = f"{ADDRESS}/{import_id}"
    if run["status"] != UPLOADED:
        return Redirect(address, STARTED)
    try:
        head = await read_head(request.services.objects, run)
    except (NotFound, BadFile) as error:
        return await upload_form(request, str(error))
    start = request.form.get("do") == "run"
    typed = _typed(request.form, columns_of(head.table), start=start)
    if not typed.choice.is_valid:
        return await _mapping_page(request, run, head, typed)
    await choose_columns(
        request.records, request.caller, import_id, typed.choice.chosen, start=start
    )
    return Redirect(address)


async def discard(request: AdminRequest, import_id: str) -> Answer:
    try:
        await discard_list(request.records, request.caller, import_id)
    except Conflict as error:
        return Redirect(f"{ADDRESS}/{import_id}", str(error))
    return Redirect(ADDRESS, words("The import is deleted, with its file."))


async def download_errors(request: AdminRequest, import_id: str) -> Answer:
    problems = _problems(await find_import(request.records, request.caller, import_id))
    # Outside of the request nobody speaks a language.
    lines = [("row", "problem"), *((str(row), retold(why)) for row, why in problems)]

    async def chunks() -> AsyncIterator[bytes]:
        yield csv_lines(lines)

    return Download(chunks(), "members-errors.csv", "text/csv; charset=utf-8")


async def upload_form(request: AdminRequest, problem: str = "") -> Answer:
    found = await request.first(member_imports, NEWEST, sort="-created")
    values = {
        "problem": problem,
        "imports": [_line(each) for each in found],
        "states": STATES,
        "back": MEMBERS,
    }
    status = 422 if problem else 200
    return Page("members/import.html", words("Import members"), values, status=status)


def _line(run: Record) -> Record:
    said = (
        ("added", words("%(number)s added", number=number(run["added"]))),
        ("changed", words("%(number)s updated", number=number(run["changed"]))),
        ("refused", words("%(number)s with errors", number=number(run["refused"]))),
    )
    parts = [str(each) for name, each in said if run[name]]
    rows = words("%(number)s rows", number=number(run["rows"]))
    return run | {"summary": ", ".join(parts) or rows}


async def _mapping_page(request: AdminRequest, run: Record, head: Head, typed: Typed) -> Page:
    preview = await asyncio.to_thread(_preview, request, run, head, typed)
    choice, chosen = typed.choice, typed.choice.chosen
    values = {
        "run": run,
        "preview": preview,
        "delimiter": DELIMITERS.get(run["delimiter"], run["delimiter"]),
        "fields": {"": words("Leave out"), **FIELDS},
        "label": chosen.label,
        "problem": choice.problem or ("" if "email" in chosen.columns else NO_EMAIL),
        "label_problem": choice.label_problem,
        "consent": chosen.consent,
        "consent_problem": choice.consent_problem,
        "is_refused": not choice.is_valid,
        "has_newsletter": "newsletter" in chosen.columns,
        "shown_problems": SHOWN_PROBLEMS,
        "back": ADDRESS,
    }
    status = 200 if choice.is_valid else 422
    return Page("members/import-columns.html", words("Import members"), values, status=status)


def _preview(request: AdminRequest, run: Record, head: Head, typed: Typed) -> Preview:
    chosen = typed.choice.chosen
    checked = check_rows(head, chosen)
    by_column = typed.fields or {column: name for name, column in chosen.columns.items()}
    return Preview(
        [
            Column(
                f"column.{number}",
                heading,
                _samples(checked.samples, name),
                by_column.get(name, ""),
            )
            for number, (name, heading) in enumerate(columns_of(head.table).items())
        ],
        [_shown(request, each) for each in checked.members[:SAMPLES]],
        checked.count,
        checked.count == run["rows"],
        [BadRow(each.number, retold(each.reason)) for each in checked.problems],
    )


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
        "newsletter": words("Yes") if values.get("newsletter") else words("No"),
        "tier": TIERS[values.get("tier", "free")],
        "status": STATUSES[values.get("status", "active")],
        "created": day(joined) if joined else words("Today"),
    }


def _typed(form: dict[str, str], columns: dict[str, str], *, start: bool) -> Typed:
    typed = {name: form.get(f"column.{number}", "") for number, name in enumerate(columns)}
    fields = {name: field for name, field in typed.items() if field in FIELDS}
    label, consent = form.get("label", "").strip(), " ".join(form.get("consent", "").split())
    return Typed(check_choice(fields, label, consent, start=start), fields)


def _report(request: AdminRequest, run: Record) -> dict[str, Any]:
    badge, state = STATES[run["status"]]
    problems = _problems(run)
    return {
        "badge_kind": badge,
        "state": state,
        "is_over": run["status"] in (DONE, FAILED),
        "tally": [
            (words("Added"), run["added"]),
            (words("Updated"), run["changed"]),
            (words("Without change"), run["unchanged"]),
            (words("With errors"), run["refused"]),
        ],
        "problems": [(row, retold(why)) for row, why in problems[:SHOWN_PROBLEMS]],
        "problem_count": len(problems),
        "max_problems": MAX_PROBLEMS,
        "url": f"{ADDRESS}/{run['id']}",
        "uploaded": request.when(run["created"]),
        "finished": request.when(run["finished_at"]) if run["finished_at"] else "",
    }


def _problems(run: Record) -> list[tuple[int, str]]:
    return msgspec.convert(run["problems"] or [], list[tuple[int, str]])
