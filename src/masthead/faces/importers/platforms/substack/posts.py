"""Converts a row of Substack's `posts.csv`, with its HTML file, to a post or a page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape, unescape
from typing import Any, Final
from urllib.parse import quote

from masthead.base.languages.words import staff_marked
from masthead.faces.importers.dates import any_utc_text, schedule, utc_text
from masthead.faces.importers.files.csv_rows import Row, is_yes
from masthead.faces.importers.platforms.substack.markup import cleaned
from masthead.faces.importers.source import PAYWALL, Kind, SourcePost

UNTITLED: Final = "Untitled"
SCHEDULED: Final = staff_marked("It was scheduled, and is a draft now.")
RECORDING: Final = staff_marked("The recording was not copied and keeps its old address.")
HAS_PAYWALL: Final = staff_marked(
    "It has a paywall: it is for paid members now, and the paywall is marked in its text."
)
UNDATED: Final = staff_marked("The date of publication is missing or can't be read.")
_LONGEST_ID: Final = 100
_SHOWN_CHARACTERS: Final = 200
KINDS: Final[Mapping[str, Kind]] = {
    "": "post",
    "newsletter": "post",
    "podcast": "post",
    "thread": "post",
    "page": "page",
}
_VISIBILITY: Final[Mapping[str, Any]] = {
    "": "public",
    "everyone": "public",
    "only_free": "members",
}


def number_and_slug(post_id: str) -> tuple[str, str]:
    """Splits `160000001.hello-readers`. A draft without a slug has only the number."""
    number, _, slug = post_id.strip().partition(".")
    return number[:_LONGEST_ID], slug


def kind_of(row: Row) -> Kind | None:
    return KINDS.get(row.get("type", "").strip().lower())


def title_of(row: Row) -> str:
    return _line(row.get("title", "")) or UNTITLED


def shown_title(row: Row) -> str:
    """The title for a report."""
    return title_of(row)[:_SHOWN_CHARACTERS]


def post_of(row: Row, kind: Kind, html: str, *, with_schedule: bool = False) -> SourcePost:
    """`with_schedule`: a scheduled post stays scheduled instead of becoming a draft."""
    number, slug = number_and_slug(row["post_id"])
    is_published = is_yes(row.get("is_published", ""))
    published_at = utc_text(row.get("post_date", ""))
    body, warnings = cleaned(html, number, slug)
    visibility = _VISIBILITY.get(row.get("audience", "").strip().lower(), "paid")
    if PAYWALL in body:
        # The text after it was never public, even if the list of posts says so.
        visibility = "paid"
        warnings.append(HAS_PAYWALL)
    recording = row.get("podcast_url", "").strip()
    if recording.lower().startswith(("http://", "https://")):
        body = f'<figure><audio controls src="{escape(recording)}"></audio></figure>{body}'
        warnings.append(RECORDING)
    if is_published and not published_at:
        warnings.append(UNDATED)
    scheduled_for = ""
    if not is_published and row.get("post_date", "").strip() and not published_at:
        if with_schedule and kind == "post":
            scheduled_for = schedule(any_utc_text(row.get("post_date", "")), warnings)
        else:
            warnings.append(SCHEDULED)
    return SourcePost(
        source_id=number,
        kind=kind,
        title=title_of(row),
        slug=slug,
        html=body,
        excerpt=_line(row.get("subtitle", "")),
        status="published" if is_published else "draft",
        visibility=visibility,
        published_at=published_at if is_published else "",
        scheduled_for=scheduled_for,
        old_path=f"/p/{quote(slug, safe='')}" if slug else "",
        warnings=tuple(warnings),
    )


def _line(cell: str) -> str:
    """Older exports have HTML entities in their cells, and cells may have several lines."""
    return " ".join(unescape(cell).split())
