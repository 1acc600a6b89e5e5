"""The collection of imports: runs with their reports."""

from __future__ import annotations

from masthead.records.collection import Collection
from masthead.records.fields.base import Access
from masthead.records.fields.documents import Json
from masthead.records.fields.text import Text
from masthead.records.fields.values import Date, Flag, Select

PLATFORMS = ("wordpress", "substack", "ghost")
QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"
import_runs = Collection(
    "import_runs",
    (
        Select(name="platform", values=PLATFORMS, required=True, write=Access.ENGINE),
        Select(
            name="state",
            values=(QUEUED, RUNNING, DONE, FAILED),
            default=QUEUED,
            write=Access.ENGINE,
        ),
        Text(name="file_name", max=255, write=Access.ENGINE),
        # Of the uploaded file; '' for a run from a shell.
        Text(name="object_key", max=1024, read=Access.ENGINE, write=Access.ENGINE),
        Json(name="options", write=Access.ENGINE),
        Flag(name="dry_run", write=Access.ENGINE),
        Json(name="report", write=Access.ENGINE, help="The summary so far; complete at the end."),
        Text(name="error", max=1000, write=Access.ENGINE),
        Date(name="started_at", write=Access.ENGINE),
        Date(name="finished_at", write=Access.ENGINE),
    ),
    audited="file_name",
    help="Imports and how far they have come.",
    made_by="`masthead import`",
)
