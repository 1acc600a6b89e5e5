"""Converts a row of Ghost's table `posts`, of any version since 0.x, to a post or a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from masthead.base.languages.words import staff_marked
from masthead.engine.records.fields.languages import language_tag_in
from masthead.faces.importers.dates import any_utc_text, schedule, utc_text
from masthead.faces.importers.old_paths import base_path
from masthead.faces.importers.platforms.ghost.bodies import ADDRESS, NO_ADDRESS, at_address, body_of
from masthead.faces.importers.platforms.ghost.links import Links, Meta, key, text
from masthead.faces.importers.source import (
    NOT_SCHEDULED,
    PAYWALL,
    Kind,
    Options,
    Skipped,
    SourcePost,
)

UNTITLED: Final = "(Untitled)"
SHOWN_CHARACTERS: Final = 200
"""Characters of a title in a report."""
HAS_PREVIEW: Final = staff_marked("It has a public preview, whose end is marked in its text.")
UNDATED: Final = staff_marked("The date of publication is missing or can't be read.")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SCHEDULED, _SENT = "scheduled", "sent"
_STATUS: Final[Mapping[str, Any]] = {
    "published": "published",
    _SENT: "published",
    "draft": "draft",
}
_NOT_IMPORTED: Final = {_SCHEDULED: "scheduled"}
_VISIBILITY: Final[Mapping[str, Any]] = {"": "public", "public": "public", "members": "members"}

Row = Mapping[str, Any]


def post_of(row: object, links: Links, options: Options) -> SourcePost | Skipped:
    if not isinstance(row, dict):
        return Skipped("post", "", staff_marked("not a post"))
    kind = _kind(row)
    source_id = _source_id(row)
    title = text(row.get("title")) or UNTITLED
    status = text(row.get("status"))
    if kind == "page" and not options.include_pages:
        return Skipped(kind, source_id, "page", title[:SHOWN_CHARACTERS])
    is_included = status == _SCHEDULED and options.include_unpublished
    if status not in _STATUS and not is_included:
        reason = _NOT_IMPORTED.get(status, "unknown status")
        return Skipped(kind, source_id, reason, title[:SHOWN_CHARACTERS])
    return _post(row, kind, source_id, title, links=links, options=options)


def _post(
    row: Row, kind: Kind, source_id: str, title: str, *, links: Links, options: Options
) -> SourcePost:
    row_id = key(row.get("id"))
    meta = links.meta(row_id)
    status = _STATUS.get(text(row.get("status")), "draft")
    html, warnings = body_of(row)
    visibility = _VISIBILITY.get(text(row.get("visibility")), "paid")
    if visibility == "public":
        # Ghost ignores the paywall of a public post.
        html = html.replace(PAYWALL, "")
    elif PAYWALL in html:
        warnings.append(HAS_PREVIEW)
    image = text(row.get("feature_image")) or text(row.get("image"))
    if not options.site_url and ADDRESS in html + image:
        warnings.append(NO_ADDRESS)
    # Ghost stores the date of an unpublished post; here a draft has none.
    published_at = utc_text(row.get("published_at")) if status == "published" else ""
    if status == "published" and not published_at:
        warnings.append(UNDATED)
    scheduled_for = ""
    if text(row.get("status")) == _SCHEDULED and kind == "post":
        scheduled_for = schedule(any_utc_text(row.get("published_at")), warnings)
    elif text(row.get("status")) == _SCHEDULED:
        warnings.append(NOT_SCHEDULED)
    slug = text(row.get("slug"))
    email_only = kind == "post" and _is_email_only(row, meta)
    return SourcePost(
        source_id=source_id,
        kind=kind,
        title=title,
        slug=slug,
        html=at_address(html, options.site_url),
        excerpt=text(row.get("custom_excerpt")),
        status=status,
        visibility=visibility,
        email_only=email_only,
        published_at=published_at,
        scheduled_for=scheduled_for,
        tags=links.tags(row_id),
        featured_image=at_address(image, options.site_url),
        featured_image_alt=meta.image_alt if meta else "",
        seo_title=(meta.title if meta else "") or text(row.get("meta_title")),
        seo_description=(meta.description if meta else "") or text(row.get("meta_description")),
        old_path="" if email_only else _old_path(slug, options.site_url),
        other_paths=() if email_only else _other_paths(text(row.get("uuid")), options.site_url),
        warnings=tuple(warnings),
        authors=links.authors_of(row) if options.include_authors else (),
        levels=links.levels_of_post(row_id) if text(row.get("visibility")) == "tiers" else (),
        language=language_tag_in(text(row.get("locale"))),
    )


def _kind(row: Row) -> Kind:
    """Reads the type, which Ghost has since 3.0, or the flag that it had before."""
    is_page = row.get("type") == "page" or row.get("page") in (1, True, "1", "true")
    return "page" if is_page else "post"


def _is_email_only(row: Row, meta: Meta | None) -> bool:
    """Until it is sent, only its meta says so; a published post has a page in any case."""
    status = text(row.get("status"))
    return status == _SENT or (status != "published" and meta is not None and meta.email_only)


def _source_id(row: Row) -> str:
    return key(row.get("id")) or key(row.get("uuid")) or key(row.get("slug"))


def _other_paths(uuid: str, site_url: str) -> tuple[str, ...]:
    """The path of the preview that Ghost has for every post, and which is shared before it is
    published."""
    return (f"{base_path(site_url)}/p/{uuid}/",) if _UUID.fullmatch(uuid) else ()


def _old_path(slug: str, site_url: str) -> str:
    if not slug:
        return ""
    return f"{base_path(site_url)}/{quote(slug, safe='')}/"
