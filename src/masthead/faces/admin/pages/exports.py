"""Settings, Export: requests an export of the site, shows its progress and lists its files."""

from __future__ import annotations

from typing import Any

import msgspec

from masthead.base import clock
from masthead.base.errors import Conflict, NotFound
from masthead.base.languages.retelling import retold
from masthead.base.languages.words import both_numbers, counted, words
from masthead.engine.audit.collection import DOWNLOADED_SITE, EXPORTED_SITE
from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer, Page, Redirect, Stored
from masthead.faces.admin.environment import number
from masthead.faces.admin.request import AdminRequest
from masthead.faces.site_export.collection import (
    EXPIRED,
    FAILED,
    OPEN,
    READY,
    export_key,
    site_exports,
)
from masthead.faces.site_export.emails import ADMIN_PATH
from masthead.faces.site_export.formats import ENDINGS, NAMES, OTHER_PLATFORMS, Format
from masthead.faces.site_export.jobs import MOST
from masthead.features.privacy.limits import admit

ADDRESS = ADMIN_PATH
SENTENCES = {
    Format.WXR: words(
        "Posts, pages, authors, comments and the addresses of media in one XML file, "
        "for WordPress, Masthead and most other platforms."
    ),
    Format.GHOST: words(
        "Posts, pages, authors, media and members in a ZIP file, for Ghost 5 and 6 "
        "and Masthead, and comments, for Masthead."
    ),
    Format.CSV: words(
        "Posts, pages and members as tables in a ZIP file, for spreadsheets and scripts."
    ),
    Format.HTML: words(
        "Posts, pages and media as web pages in a ZIP file, for any browser, even offline."
    ),
    Format.MASTHEAD: words(
        "The whole site in one file, for another installation of Masthead, with "
        "members, comments, orders and password hashes. Only operators can make and download it."
    ),
}
_STATES = {
    READY: ("good", words("Ready")),
    EXPIRED: ("draft", words("Expired")),
    FAILED: ("bad", words("Failed")),
}
_ONE_AT_A_TIME = Redirect(
    ADDRESS, words("Another export is being made. Wait for it, or cancel it.")
)
_CONTENTS = {
    "records": both_numbers("%(count)s record", "%(count)s records"),
    "posts": both_numbers("%(count)s post", "%(count)s posts"),
    "pages": both_numbers("%(count)s page", "%(count)s pages"),
    "members": both_numbers("%(count)s member", "%(count)s members"),
    "media": both_numbers("%(count)s file", "%(count)s files"),
}


async def begin(request: AdminRequest) -> Answer:
    chosen = request.form.get("format", "")
    if chosen not in _formats(request):
        return await exports_page(request, words("Choose one of the formats."))
    if _running(await _exports(request)):
        return _ONE_AT_A_TIME
    # Counted with the exports of personal data, because each sends a mail.
    windows = request.services.windows
    await admit(windows, request.tenant_id, request.caller, request.client.address)
    # First: no data leaves without an entry.
    await request.note(EXPORTED_SITE)
    exports = request.services.site_exports
    try:
        await exports.begin(request.tenant_id, Format(chosen), request.caller.id)
    except Conflict:
        return _ONE_AT_A_TIME
    return Redirect(
        ADDRESS, words("The export is being made. You can download it here when it is ready.")
    )


async def download(request: AdminRequest, export_id: str) -> Answer:
    export = await _export(request, export_id)
    if not _is_ready(request, export) or export["format"] not in _formats(request):
        raise NotFound
    await request.note(DOWNLOADED_SITE)
    ending = ENDINGS[Format(export["format"])]
    name = f"{request.tenant.slug}-{export['format']}-{export['finished_at'][:10]}.{ending}"
    return Stored(export_key(export), name, f"application/{ending}")


async def remove(request: AdminRequest, export_id: str) -> Answer:
    """One that is being made ends soon."""
    export = await _export(request, export_id)
    await request.records.delete(request.caller, site_exports, export_id)
    is_open = export["state"] in OPEN
    said = words("The export is cancelled.") if is_open else words("The export is removed.")
    return Redirect(ADDRESS, said)


async def exports_page(request: AdminRequest, problem: str = "") -> Answer:
    found = await _exports(request)
    running = _running(found)
    if request.is_fragment and running is None:
        return Redirect(ADDRESS, _ended(found))
    values: dict[str, Any] = {
        "address": ADDRESS,
        "names": NAMES,
        "choices": {each: SENTENCES[each] for each in _formats(request)},
        "chosen": request.form.get("format", Format.WXR),
        "problem": problem,
        "running": running,
        "rows": [
            _shown(request, each)
            for each in found
            if each["state"] not in OPEN and each["format"] in _formats(request)
        ],
        "email": request.account["email"],
    }
    status = 422 if problem else 200
    return Page(
        "exports/exports.html", words("Export"), values, status, fragment="exports/_progress.html"
    )


async def _exports(request: AdminRequest) -> list[Record]:
    """Those of a site are few: each format has one file."""
    return await request.first(site_exports, MOST, sort="-created")


async def _export(request: AdminRequest, export_id: str) -> Record:
    found = await request.records.get(request.caller, site_exports, export_id)
    return found | {"tenant_id": request.tenant_id}


def _running(found: list[Record]) -> Record | None:
    return next((each for each in found if each["state"] in OPEN), None)


def _ended(found: list[Record]) -> str:
    """The message for a page that waits for an export."""
    ended = max(found, key=lambda each: str(each["finished_at"]), default=None)
    if ended is None:
        return words("The export is cancelled.")
    return (
        words("The export has failed.")
        if ended["state"] == FAILED
        else words("The export is ready.")
    )


def _formats(request: AdminRequest) -> tuple[Format, ...]:
    return tuple(Format) if request.caller.is_platform else OTHER_PLATFORMS


def _shown(request: AdminRequest, export: Record) -> Record:
    """`detail`: the contents of the file, or the reason why there is none."""
    is_ready = _is_ready(request, export)
    is_over = export["state"] == READY and not is_ready
    return export | {
        "badge": _STATES[EXPIRED if is_over else export["state"]],
        "detail": retold(export["error"]) or _contents(export),
        "is_ready": is_ready,
    }


def _contents(export: Record) -> str:
    stored = export["report"]
    report = msgspec.json.decode(stored) if isinstance(stored, msgspec.Raw) else stored or {}
    parts = [_counted(report[kind], kind) for kind in _CONTENTS if report.get(kind)]
    if missing := report.get("missing_files"):
        parts.append(
            str(
                counted(
                    "%(count)s file missing",
                    "%(count)s files missing",
                    missing,
                    count=number(missing),
                )
            )
        )
    return ", ".join(parts)


def _counted(count: int, kind: str) -> str:
    one, many = _CONTENTS[kind]
    return str(counted(one, many, count, count=number(count)))


def _is_ready(request: AdminRequest, export: Record) -> bool:
    now = clock.to_text(request.records.clock())
    return bool(export["state"] == READY and export["expires_at"] > now)
