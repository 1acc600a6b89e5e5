"""The pages and categories collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from masthead.base.caller import Audience
from masthead.content.texts.alt_texts import alt_jobs
from masthead.content.texts.content import (
    CLEAN_FIELDS,
    CONTENT_HTML,
    CONTENT_SOURCE,
    RENDERING,
    STAMPED,
    update_content_source,
)
from masthead.content.texts.kinds import TextKind
from masthead.content.texts.languages import EDITION, LANGUAGE, stamp_edition
from masthead.content.texts.publication import (
    PUBLISHED,
    PUBLISHED_AT,
    STATUS,
    changes_more_than_a_draft,
    moves_of,
    stamp_publication,
    was_published,
)
from masthead.content.texts.revisions import FIELDS as REVISION_FIELDS
from masthead.content.texts.revisions import revisions_of, snapshots_of, stamp_revision
from masthead.content.texts.teaser import EXCERPT, FEATURED_IMAGE, SEO_FIELDS
from masthead.content.texts.working_copies import working_copies_of
from masthead.engine.links.file_readers import Part, ShownParts
from masthead.engine.links.file_uses import Uses
from masthead.engine.links.moves import Move, Moves
from masthead.engine.records.changes import Change, Later, Save, Snapshot
from masthead.engine.records.collection import (
    FREE,
    Collection,
    Counter,
    Index,
    Record,
    Rules,
    Searched,
    SiteRules,
    Trashed,
    letters_column,
)
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.text import Slug, Text
from masthead.engine.records.fields.translations import TRANSLATIONS
from masthead.features.pages.addresses import RESERVED


def before_save(save: Save) -> Mapping[str, Any]:
    stamps = {**stamp_publication(save), **update_content_source(save), **stamp_edition(save)}
    return {**stamps, **stamp_revision(save._replace(new={**save.new, **stamps}), EDITED)}


def page_events(change: Change) -> Iterator[str]:
    if was_published(change):
        yield "page.published"


def page_jobs(change: Change) -> Iterator[Later]:
    """The library learns what the page says of its pictures."""
    return alt_jobs(pages.name, change)


def page_moves(change: Change) -> Iterator[Move]:
    return moves_of(change, "/")


def page_snapshots(change: Change) -> Iterator[Snapshot]:
    return snapshots_of(change, "page", EDITED)


def _shown_parts(page: Record) -> Iterator[Part]:
    if page["status"] == PUBLISHED:
        shown = (page["content_html"], page["featured_image"])
        yield Part(shown, Audience.GUEST, page["published_at"])


EDITED_FIELDS = (
    Text(name="title", required=True, max=255),
    Slug(name="slug", source="title", reserved=RESERVED),
    CONTENT_HTML,
    Json(name="content_json"),
    CONTENT_SOURCE,
    EXCERPT,
    FEATURED_IMAGE,
    *SEO_FIELDS,
    LANGUAGE,
    TRANSLATIONS,
)
EDITED = tuple(each.name for each in EDITED_FIELDS)

FILES = Uses(
    ("content_html", "featured_image"),
    shown=ShownParts(("status", "published_at"), _shown_parts, since="published_at"),
)
pages = Collection(
    "pages",
    (
        *EDITED_FIELDS,
        STATUS,
        PUBLISHED_AT,
        EDITION,
        *REVISION_FIELDS,
        *CLEAN_FIELDS,
    ),
    audited="title",
    audited_without=STAMPED,
    is_audited=changes_more_than_a_draft,
    help="Standalone pages, such as About or a legal notice. The fields work as in `posts`.",
    editors=FREE,
    listings=(FILES.listings,),
    site=SiteRules(
        read="status = 'published' && published_at != '' && published_at <= @now",
        fields=(
            "title",
            "slug",
            "content_html",
            "excerpt",
            "featured_image",
            "seo_title",
            "seo_description",
            "published_at",
            "translations",
            "language",
            "edition",
            "updated",
        ),
    ),
    before_save=before_save,
    trashed=Trashed(title="title"),
    rendering=RENDERING,
    events=page_events,
    jobs=page_jobs,
    snapshots=page_snapshots,
    followers=(FILES, Moves(page_moves)),
    counters=(Counter(by=("status",)),),
    # The orders of the admin's list.
    indexes=(
        Index(("updated", "id")),
        Index(("status", "updated", "id")),
        Index((letters_column("title"), "id")),
        # An order of the public API.
        Index(("published_at", "id")),
        Index(("language", "created", "id"), skip_empty="language"),
    ),
    by_letters=("title",),
    searchable=(Searched("title"), Searched("content_html", is_html=True)),
)

page_revisions = revisions_of("page", EDITED_FIELDS)
page_working_copies = working_copies_of(
    "page",
    EDITED_FIELDS,
    stamp=update_content_source,
    names_files=("content_html", "featured_image"),
)

PAGES = TextKind(pages, page_working_copies, page_revisions, "page_id", EDITED)

categories = Collection(
    "categories",
    (Text(name="name", required=True, max=255), Slug(name="slug", source="name")),
    audited="name",
    help="Names to sort posts by.",
    editors=FREE,
    authors=Rules(read=""),
    contributors=Rules(read=""),
)
