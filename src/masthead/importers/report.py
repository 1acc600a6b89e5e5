"""What a run has done so far: the counts that everybody sees, and the list of what went wrong.

The same report is printed by the command, shown in the admin and kept with the run, from where a
run that was cut off takes it up again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

MOST_KEPT = 500
"""Of errors and warnings that are stored with the run; a file has all of them."""

Result = Literal["imported", "updated", "skipped", "failed"]


class Outcome(msgspec.Struct, frozen=True):
    """What became of one item."""

    what: Literal["post", "page", "product", "member", "comment", "author"]
    source_id: str
    result: Result
    title: str = ""
    reason: str = ""
    """Why it was skipped or failed."""
    warnings: tuple[str, ...] = ()
    html_only: str = ""
    """Why the editor can't open it, where it can't."""


class Tally(msgspec.Struct):
    imported: int = 0
    updated: int = 0
    failed: int = 0
    skipped: dict[str, int] = msgspec.field(default_factory=dict)
    """By reason."""

    def add(self, outcome: Outcome) -> None:
        if outcome.result == "skipped":
            self.skipped[outcome.reason] = self.skipped.get(outcome.reason, 0) + 1
        else:
            setattr(self, outcome.result, getattr(self, outcome.result) + 1)

    def copy(self) -> Tally:
        return msgspec.structs.replace(self, skipped=dict(self.skipped))

    def summary(self) -> dict[str, int]:
        return {
            "imported": self.imported,
            "skipped": sum(self.skipped.values()),
            "failed": self.failed,
            "updated": self.updated,
        }


class Images(msgspec.Struct):
    copied: int = 0
    failed: int = 0


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error or a warning, with what it is about."""

    kind: str
    source_id: str
    title: str = ""
    url: str = ""
    reason: str = ""


class Position(msgspec.Struct):
    """How many entries of the export are done and committed."""

    posts: int = 0
    members: int = 0
    comments: int = 0
    authors: int = 0


class Report(msgspec.Struct):
    platform: str
    dry_run: bool = False
    posts: Tally = msgspec.field(default_factory=Tally)
    members: Tally = msgspec.field(default_factory=Tally)
    comments: Tally = msgspec.field(default_factory=Tally)
    authors: Tally = msgspec.field(default_factory=Tally)
    images: Images = msgspec.field(default_factory=Images)
    html_only: dict[str, int] = msgspec.field(default_factory=dict)
    """Posts that the editor can't open without losing something, by what that is."""
    warnings: list[Note] = msgspec.field(default_factory=list)
    errors: list[Note] = msgspec.field(default_factory=list)
    done: Position = msgspec.field(default_factory=Position)
    redirects_path: str = ""
    errors_path: str = ""

    def after(
        self, outcomes: Sequence[Outcome], copied: int = 0, failures: Sequence[Note] = ()
    ) -> Report:
        """The report once a batch is done; this one stays as it is, should the batch fail."""
        new = msgspec.structs.replace(
            self,
            posts=self.posts.copy(),
            members=self.members.copy(),
            comments=self.comments.copy(),
            authors=self.authors.copy(),
            images=Images(self.images.copied + copied, self.images.failed + self._new(failures)),
            html_only=dict(self.html_only),
            warnings=list(self.warnings),
            errors=[*self.errors, *failures],
            done=msgspec.structs.replace(self.done),
        )
        for outcome in outcomes:
            new._add(outcome)
        return new

    def _new(self, failures: Sequence[Note]) -> int:
        """How many pictures those are that were not counted yet: a picture may be in many posts."""
        if not failures:
            return 0
        known = {note.url for note in self.errors if note.kind == "image"}
        return len({note.url for note in failures} - known)

    def _add(self, outcome: Outcome) -> None:
        if outcome.what == "member":
            self.members.add(outcome)
            self.done.members += 1
        elif outcome.what == "comment":
            self.comments.add(outcome)
            self.done.comments += 1
        elif outcome.what == "author":
            self.authors.add(outcome)
            self.done.authors += 1
        else:
            self.posts.add(outcome)
            self.done.posts += 1
        note = (outcome.what, outcome.source_id, outcome.title, "")
        if outcome.result == "failed":
            self.errors.append(Note(*note, outcome.reason))
        self.warnings += [Note(*note, warning) for warning in outcome.warnings]
        if outcome.html_only:
            self.html_only[outcome.html_only] = self.html_only.get(outcome.html_only, 0) + 1

    def summary(self) -> dict[str, Any]:
        """As the operator contract has it."""
        return {
            "posts": self.posts.summary(),
            "members": self.members.summary(),
            **{name: tally.summary() for name, tally in self.others().items()},
            "images": {"copied": self.images.copied, "failed": self.images.failed},
            "redirects": self.redirects_path or None,
            "errors": self.errors_path or None,
            "dry_run": self.dry_run,
        }

    def others(self) -> dict[str, Tally]:
        """What only some exports have."""
        tallies = {"comments": self.comments, "authors": self.authors}
        return {name: tally for name, tally in tallies.items() if any(tally.summary().values())}

    def full(self) -> dict[str, Any]:
        """The summary, why things were skipped, and every warning and error."""
        return {
            "platform": self.platform,
            **self.summary(),
            "skipped": {
                "posts": self.posts.skipped,
                "members": self.members.skipped,
                **{name: tally.skipped for name, tally in self.others().items()},
            },
            "html_only": self.html_only,
            "warnings": msgspec.to_builtins(self.warnings),
            "error_list": msgspec.to_builtins(self.errors),
        }

    def kept(self) -> dict[str, Any]:
        """As it is stored with the run."""
        fitting = msgspec.structs.replace(
            self, warnings=self.warnings[:MOST_KEPT], errors=self.errors[:MOST_KEPT]
        )
        kept: dict[str, Any] = msgspec.to_builtins(fitting)
        return kept


def read_report(kept: object) -> Report:
    return msgspec.convert(kept, Report)


def errors_file(errors: Sequence[Note]) -> bytes:
    """The content of `import-errors.json`."""
    return msgspec.json.format(msgspec.json.encode(errors), indent=2) + b"\n"


def read_errors(content: bytes) -> list[Note]:
    """Raises `msgspec.MsgspecError` for what is no such file."""
    return msgspec.json.decode(content, type=list[Note])
