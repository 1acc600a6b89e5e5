"""The collection of members' CSV imports: an uploaded file, what its columns mean, and how far the
import has come."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from masthead.engine.records.changes import Change, Later
from masthead.engine.records.collection import Collection, Index
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date, Number, Select

MEMBERS_JOB: Final = "members.import"
UPLOADED, QUEUED, RUNNING, DONE, FAILED = "uploaded", "queued", "running", "done", "failed"
ABANDONED_AFTER: Final = timedelta(days=1)
"""Then an upload that was not started is deleted: it holds addresses."""
STUCK_AFTER: Final = timedelta(days=7)
REPORT_FOR: Final = timedelta(days=90)
MAX_PROBLEMS: Final = 1_000
"""Rows whose problem is stored; all are counted."""


def _removed_file(change: Change) -> Iterator[Later]:
    old, new = change.old, change.new
    if old and old["object_key"] and (new is None or not new["object_key"]):
        yield Later("files.remove", {"keys": [old["object_key"]]})


member_imports = Collection(
    "member_imports",
    (
        Select(
            name="status",
            values=(UPLOADED, QUEUED, RUNNING, DONE, FAILED),
            default=UPLOADED,
            write=Access.ENGINE,
        ),
        Text(name="file_name", max=255, write=Access.ENGINE),
        # Not a field for files, which everyone may read. Empty after the file was deleted.
        Text(name="object_key", max=1024, read=Access.ENGINE, write=Access.ENGINE),
        Text(name="encoding", max=20, write=Access.ENGINE),
        Text(name="delimiter", max=1, write=Access.ENGINE),
        Json(name="options", write=Access.ENGINE, help="The field of each column, and a label."),
        Number(name="rows", write=Access.ENGINE, help="In the file."),
        Number(name="read_rows", write=Access.ENGINE, help="So far."),
        Number(name="added", write=Access.ENGINE),
        Number(name="changed", write=Access.ENGINE),
        Number(name="unchanged", write=Access.ENGINE),
        Number(name="refused", write=Access.ENGINE),
        Json(
            name="problems",
            write=Access.ENGINE,
            help=f"The first {MAX_PROBLEMS:,} refused rows: number and reason, none of their text.",
        ),
        Text(name="error", max=1000, write=Access.ENGINE, help="Why the whole import failed."),
        Date(name="finished_at", write=Access.ENGINE),
        Date(name="expires_at", write=Access.ENGINE, help="When it is deleted, with its file."),
    ),
    audited="file_name",
    help="Imports of members from CSV files, and their progress.",
    made_by="an upload in the admin",
    jobs=_removed_file,
    indexes=(Index(("expires_at",), across_tenants=True, skip_empty="expires_at"),),
)
