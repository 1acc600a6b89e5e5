"""The report of a run: its counts, and the list of errors and warnings.

The command prints it, and it is stored with the run, so that an interrupted run can resume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from masthead.base.languages.words import as_text

MAX_STORED_NOTES = 500
"""Errors, and as many warnings, that are stored with the run; a file has all of them."""

GONE = "deleted here before"
EDITED = "edited here since the import"
IN_USE = "used by something that stays"
"""Why an undo removes nothing."""
IMPORTED: Final[Mapping[str, tuple[str, str]]] = {
    "comments": ("comment", "comments"),
    "posts": ("post", "posts"),
    "pages": ("page", "pages"),
    "products": ("product", "products"),
    "blog_members": ("member", "members"),
    "_superusers": ("author", "authors"),
    "media": ("file", "files"),
    "redirects": ("redirect", "redirects"),
}
"""The collections that an import writes, in the order of an undo: what others point at comes after
them, and redirects stay where they still lead to something."""
IMAGE = "image"
"""The kind of a note about a picture."""

Result = Literal["imported", "updated", "skipped", "failed"]


class Outcome(msgspec.Struct, frozen=True):
    """The result for one item."""

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
    """Counts by reason."""

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
    """Each picture once, however many posts show it and in however many sizes."""

    copied: int = 0
    failed: int = 0
    to_fetch: int = 0
    """In a dry run, which does not fetch them: those that are not in the export itself."""


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error or a warning, with what it is about."""

    kind: str
    source_id: str
    title: str = ""
    url: str = ""
    reason: str = ""
    picture: str = ""
    """The address of the picture, where a post shows it at another one."""


class Position(msgspec.Struct):
    """How many entries of the export are done and committed."""

    posts: int = 0
    members: int = 0
    comments: int = 0
    authors: int = 0


class Undone(msgspec.Struct):
    """How far an import is undone."""

    total: int = 0
    """Records that the import has created, and which are still there."""
    removed: dict[str, int] = msgspec.field(default_factory=dict)
    """Counts by collection."""
    stayed: dict[str, int] = msgspec.field(default_factory=dict)
    """Counts by reason."""
    left: list[Note] = msgspec.field(default_factory=list)
    """The first that stayed. Their kind is the collection, their source id the record's id."""

    def add(self, collection: str, record_id: str, title: str, reason: str) -> None:
        """Without a reason it was removed."""
        counts, name = (self.stayed, reason) if reason else (self.removed, collection)
        counts[name] = counts.get(name, 0) + 1
        if reason and reason != GONE and len(self.left) < MAX_STORED_NOTES:
            self.left.append(Note(collection, record_id, title, reason=reason))

    def removed_words(self) -> str:
        """Such as `12 posts, 1 page`."""
        # In our order: a database may return the names in another.
        found = [(words, self.removed.get(name, 0)) for name, words in IMPORTED.items()]
        counted = [
            f"{count:,} {one if count == 1 else many}" for (one, many), count in found if count
        ]
        return ", ".join(counted) or "nothing"

    @property
    def done(self) -> int:
        return sum(self.removed.values()) + sum(self.stayed.values())


class Report(msgspec.Struct):
    platform: str
    dry_run: bool = False
    namespace: str = ""
    """`opening.id_namespace` of the export; '' in the reports of versions before."""
    continued_by: str = ""
    """The run that owns now what a failed one has created."""
    posts: Tally = msgspec.field(default_factory=Tally)
    members: Tally = msgspec.field(default_factory=Tally)
    comments: Tally = msgspec.field(default_factory=Tally)
    authors: Tally = msgspec.field(default_factory=Tally)
    images: Images = msgspec.field(default_factory=Images)
    html_only: dict[str, int] = msgspec.field(default_factory=dict)
    """Posts that the editor can't open without losing something, by what that is."""
    warnings: list[Note] = msgspec.field(default_factory=list)
    errors: list[Note] = msgspec.field(default_factory=list)
    skips: list[Note] = msgspec.field(default_factory=list)
    """The first that were skipped."""
    kinds: dict[str, Tally] = msgspec.field(default_factory=dict)
    """The posts by their kind: post, page, product."""
    tags: int = 0
    """Different ones, of the posts."""
    redirects: int = 0
    redirect_kinds: dict[str, int] = msgspec.field(default_factory=dict)
    """The redirects by what they are of: `RedirectKind`."""
    done: Position = msgspec.field(default_factory=Position)
    expected: Position = msgspec.field(default_factory=Position)
    """How many entries the export has; 0 where that is unknown."""
    undone: Undone = msgspec.field(default_factory=Undone)
    redirects_path: str = ""
    errors_path: str = ""

    def after(
        self,
        outcomes: Sequence[Outcome],
        copied: int = 0,
        failures: Sequence[Note] = (),
        to_fetch: int = 0,
    ) -> Report:
        """A copy with the batch added; this report is unchanged, in case the batch fails."""
        new = msgspec.structs.replace(
            self,
            posts=self.posts.copy(),
            members=self.members.copy(),
            comments=self.comments.copy(),
            authors=self.authors.copy(),
            images=Images(
                self.images.copied + copied,
                self.images.failed + self._count_new(failures),
                self.images.to_fetch + to_fetch,
            ),
            html_only=dict(self.html_only),
            warnings=list(self.warnings),
            errors=[*self.errors, *failures],
            skips=list(self.skips),
            kinds={name: tally.copy() for name, tally in self.kinds.items()},
            done=msgspec.structs.replace(self.done),
        )
        for outcome in outcomes:
            new._add(outcome)
        return new

    def _count_new(self, failures: Sequence[Note]) -> int:
        """Pictures that were not counted yet: one picture may be in many posts."""
        if not failures:
            return 0
        known = {note.picture or note.url for note in self.errors if note.kind == IMAGE}
        return len({note.picture or note.url for note in failures} - known)

    def _add(self, outcome: Outcome) -> None:
        is_post = outcome.what in ("post", "page", "product")
        name = "posts" if is_post else f"{outcome.what}s"
        getattr(self, name).add(outcome)
        if is_post:
            self.kinds.setdefault(outcome.what, Tally()).add(outcome)
        setattr(self.done, name, getattr(self.done, name) + 1)
        note = (outcome.what, outcome.source_id, outcome.title, "")
        if outcome.result == "skipped" and len(self.skips) < MAX_STORED_NOTES:
            self.skips.append(Note(*note, outcome.reason))
        if outcome.result == "failed":
            self.errors.append(Note(*note, outcome.reason))
        self.warnings += [Note(*note, warning) for warning in outcome.warnings]
        if outcome.html_only:
            self.html_only[outcome.html_only] = self.html_only.get(outcome.html_only, 0) + 1

    def summary(self) -> dict[str, Any]:
        """The JSON that `masthead import --json` prints."""
        return {
            "posts": self.posts.summary(),
            "members": self.members.summary(),
            **{name: tally.summary() for name, tally in self.others().items()},
            "images": self._images(),
            "redirects": self.redirects_path or None,
            "errors": self.errors_path or None,
            "dry_run": self.dry_run,
        }

    def _images(self) -> dict[str, int]:
        images = self.images
        found = {"copied": images.copied, "failed": images.failed}
        return found | {"to_fetch": images.to_fetch} if images.to_fetch else found

    def others(self) -> dict[str, Tally]:
        """Tallies of items that only some exports have."""
        tallies = {"comments": self.comments, "authors": self.authors}
        return {name: tally for name, tally in tallies.items() if any(tally.summary().values())}

    def full(self, skipped: Sequence[Note]) -> dict[str, Any]:
        """The summary, the reasons for skipping, what was skipped, and all warnings and errors."""
        return {
            "platform": self.platform,
            **self.summary(),
            "skipped": {
                "posts": self.posts.skipped,
                "members": self.members.skipped,
                **{name: tally.skipped for name, tally in self.others().items()},
            },
            "skipped_list": msgspec.to_builtins(skipped, enc_hook=as_text),
            "html_only": self.html_only,
            "redirect_kinds": self.redirect_kinds,
            "warnings": msgspec.to_builtins(self.warnings, enc_hook=as_text),
            "error_list": msgspec.to_builtins(self.errors, enc_hook=as_text),
        }

    def after_retry(self, retried: Report) -> Report:
        """With the pictures of a retry: those that it has copied, and those that failed again."""
        others = [each for each in self.errors if each.kind != IMAGE]
        images = Images(self.images.copied + retried.images.copied, retried.images.failed)
        return msgspec.structs.replace(self, images=images, errors=[*others, *retried.errors])

    def stored(self) -> dict[str, Any]:
        """The JSON of the run's field `report`."""
        shortened = msgspec.structs.replace(
            self,
            warnings=self.warnings[:MAX_STORED_NOTES],
            errors=self.errors[:MAX_STORED_NOTES],
        )
        stored: dict[str, Any] = msgspec.to_builtins(shortened, enc_hook=as_text)
        return stored


def read_report(stored: object) -> Report:
    return msgspec.convert(stored, Report)


def errors_file(errors: Sequence[Note]) -> bytes:
    """The content of `import-errors.json`."""
    return msgspec.json.format(msgspec.json.encode(errors, enc_hook=as_text), indent=2) + b"\n"


def read_errors(content: bytes) -> list[Note]:
    """Raises `msgspec.MsgspecError` for any other file."""
    return msgspec.json.decode(content, type=list[Note])
