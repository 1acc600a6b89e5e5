"""The collections of imports: runs with their reports, and redirects from old addresses."""

from __future__ import annotations

import re

from masthead.records.collection import Collection
from masthead.records.fields.base import Access
from masthead.records.fields.documents import Json
from masthead.records.fields.text import Text, Url
from masthead.records.fields.values import Date, Flag, Number, Select

PLATFORMS = ("wordpress", "substack", "ghost")
QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"
MAX_PATH = 600
"""Characters. PostgreSQL's unique index takes no more than about 2,700 bytes."""

redirects = Collection(
    "redirects",
    (
        Text(
            name="source",
            required=True,
            max=MAX_PATH,
            unique=True,
            pattern=re.compile(r"/[^\s\\\x00-\x1f]*"),
            help="The old path, with its query if it has one.",
        ),
        Url(name="destination", required=True),
        Number(name="status_code", min=301, max=308, default=301),
    ),
    help="Old addresses of imported posts and where they are now.",
)

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
    help="Imports and how far they have come.",
    made_by="`masthead import`",
)
