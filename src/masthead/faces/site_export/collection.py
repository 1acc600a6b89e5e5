"""The collection of exports that were asked for in the admin, and where their files are stored."""

from __future__ import annotations

from collections.abc import Iterator

from masthead.engine.records.changes import Change, Later
from masthead.engine.records.collection import Collection, Index, Record, file_key
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date, Number, Select
from masthead.faces.site_export.formats import ENDINGS, Format

QUEUED, RUNNING, READY, EXPIRED, FAILED = "queued", "running", "ready", "expired", "failed"
OPEN = frozenset({QUEUED, RUNNING})
WITHOUT_FILE = frozenset({EXPIRED, FAILED})


def remove_file(change: Change) -> Iterator[Later]:
    """A file is deleted with its record, when its time is over, and when the export fails: an
    attempt may have stored it and died before its record became ready."""
    old, new = change.old, change.new
    if old is None or old["state"] in WITHOUT_FILE:
        return
    if new is None or new["state"] in WITHOUT_FILE:
        yield Later("files.remove", {"keys": [export_key(old)]})


site_exports = Collection(
    "site_exports",
    (
        Select(
            name="format",
            values=tuple(each.value for each in Format),
            required=True,
            write=Access.ENGINE,
        ),
        Select(
            name="state",
            values=(QUEUED, RUNNING, READY, EXPIRED, FAILED),
            default=QUEUED,
            write=Access.ENGINE,
        ),
        # Not a relation: an operator's account belongs to no tenant.
        Text(name="asked_by", max=15, write=Access.ENGINE, help="The account that gets the email."),
        Number(name="done", write=Access.ENGINE, help="Records written so far."),
        Number(name="total", write=Access.ENGINE, help="Records in all."),
        Json(name="report", write=Access.ENGINE, help="How many records of each kind are in it."),
        Number(name="bytes", write=Access.ENGINE, help="The size of the file."),
        Text(name="error", max=1000, write=Access.ENGINE),
        Date(name="finished_at", write=Access.ENGINE),
        Date(name="expires_at", write=Access.ENGINE, help="When the file is deleted."),
    ),
    audited="format",
    jobs=remove_file,
    help="Exports for other platforms, requested in the admin.",
    made_by="Settings, Export in the admin",
    # For the sweep, which goes through all tenants.
    indexes=(Index(("state", "expires_at"), across_tenants=True),),
)


def export_folder(tenant_id: str, export_id: str) -> str:
    """Where its file is stored."""
    return file_key(tenant_id, site_exports, export_id, "").rstrip("/")


def export_key(export: Record) -> str:
    """The key of the export's file in the object store."""
    name = f"site.{ENDINGS[Format(export['format'])]}"
    return file_key(export["tenant_id"], site_exports, export["id"], name)
