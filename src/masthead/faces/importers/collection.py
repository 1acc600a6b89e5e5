"""The collection of imports: runs with their reports.

A run has a task, which a worker does: a preview of an uploaded file, then the import itself.
After it the pictures that failed may be tried again, and the whole import may be undone.
"""

from __future__ import annotations

from collections.abc import Iterator

from masthead.base.languages.words import staff_words
from masthead.engine.records.changes import Change, Later
from masthead.engine.records.collection import Collection, Record, file_key
from masthead.engine.records.fields.base import Access
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.text import Text
from masthead.engine.records.fields.values import Date, Flag, Number, Select

PLATFORMS = ("wordpress", "substack", "ghost")
QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"
PREVIEW, IMPORT, PICTURES, UNDO = "preview", "import", "pictures", "undo"
SWEEP_JOB = "imports.sweep"


def run_jobs(change: Change) -> Iterator[Later]:
    """The files of a deleted run go with it, and an uploaded file that the run forgets."""
    old, new = change.old, change.new
    if new is None:
        yield Later(SWEEP_JOB, {"run_id": change.record["id"]})
    elif old and old["object_key"] and not new["object_key"]:
        yield Later("files.remove", {"keys": [old["object_key"]]})


import_runs = Collection(
    "import_runs",
    (
        Select(name="platform", values=PLATFORMS, required=True, write=Access.ENGINE),
        Select(
            name="task",
            values=(PREVIEW, IMPORT, PICTURES, UNDO),
            default=IMPORT,
            write=Access.ENGINE,
            help="What the run does or did last: `preview` changes nothing, `pictures` copies "
            "those that failed, `undo` removes what was imported.",
        ),
        Select(
            name="state",
            values=(QUEUED, RUNNING, DONE, FAILED),
            default=QUEUED,
            write=Access.ENGINE,
            help="Of the task.",
        ),
        Text(name="file_name", max=255, write=Access.ENGINE),
        Number(name="file_size", write=Access.ENGINE, help="In bytes; 0 for a run from a shell."),
        # Of the uploaded file; '' where it is deleted, and for a run from a shell.
        Text(name="object_key", max=1024, read=Access.ENGINE, write=Access.ENGINE),
        Json(name="options", write=Access.ENGINE),
        Flag(name="dry_run", write=Access.ENGINE),
        Json(name="report", write=Access.ENGINE, help="The summary so far; complete at the end."),
        Text(name="error", max=1000, write=Access.ENGINE),
        Date(name="started_at", write=Access.ENGINE),
        Date(name="finished_at", write=Access.ENGINE),
    ),
    audited="file_name",
    audited_state="task",
    help="Imports and their progress.",
    jobs=run_jobs,
    made_by="the admin or `masthead import`",
    called=staff_words("imports"),
)


def stored_keys(run: Record) -> list[str]:
    """The uploaded export and the files of the run. Other paths are those of a run from a shell."""
    report = run["report"] if isinstance(run["report"], dict) else {}
    named = [run["object_key"], report.get("redirects_path"), report.get("errors_path")]
    own = file_key(run["tenant_id"], import_runs, run["id"], "")
    return [key for key in named if isinstance(key, str) and key.startswith(own)]
