"""The posts collection: its fields, access rules and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from masthead.base.caller import Kind
from masthead.base.errors import Forbidden
from masthead.base.languages.words import staff_words
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
    SCHEDULED_FOR,
    STATUS,
    changes_more_than_a_draft,
    moves_of,
    stamp_publication,
    stamp_schedule,
    stays_published,
    was_published,
    was_scheduled,
    was_unpublished,
)
from masthead.content.texts.revisions import FIELDS as REVISION_FIELDS
from masthead.content.texts.revisions import revisions_of, snapshots_of, stamp_revision
from masthead.content.texts.teaser import EXCERPT, FEATURED_IMAGE, SEO_FIELDS
from masthead.content.texts.working_copies import working_copies_of
from masthead.engine.links.file_readers import ShownParts
from masthead.engine.links.file_uses import Uses
from masthead.engine.links.moves import Move, Moves
from masthead.engine.records.changes import Change, Later, Save, Snapshot, Tally
from masthead.engine.records.collection import (
    FREE,
    Collection,
    Counter,
    Index,
    Record,
    Rules,
    Searched,
    Trashed,
    file_key,
    letters_column,
)
from masthead.engine.records.derived.daily_counts import day_of
from masthead.engine.records.fields.documents import Json
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.fields.text import Slug, Text
from masthead.engine.records.fields.translations import TRANSLATIONS
from masthead.engine.records.fields.values import Select
from masthead.features.posts.review import REVIEW_FIELDS, review_jobs, stamp_review
from masthead.features.posts.site import (
    EMAIL_ONLY,
    LISTINGS,
    READING_MINUTES,
    SITE,
    SUMMARY,
    TIERS,
    check_tiers,
    shown_parts,
    summarized,
)
from masthead.features.posts.tag_records import POST_TAGS, NamedTags

# Without the two conditions before the last, public drafts and scheduled posts would be readable
# too early.
PUBLIC = (
    "visibility = 'public' && published_at != '' && status = 'published' && published_at <= @now"
    " && email_only = false"
)


OWN = "authors ?= @request.auth.id"
OWN_DRAFT = f"{OWN} && status = 'draft' && scheduled_for = ''"
"""A contributor's own, until someone else publishes or schedules it."""
POSTS_PUBLISHED = "posts.published"


def before_save(save: Save) -> Mapping[str, Any]:
    check_tiers(save)
    stamps = {
        **stamp_publication(save),
        **stamp_schedule(save),
        **update_content_source(save),
        **_own_authors(save),
        **stamp_review(save),
        **stamp_edition(save),
    }
    saved = save.with_stamps(stamps)
    return {**stamps, **summarized(saved), **stamp_revision(saved, _revised(save))}


def _revised(save: Save) -> tuple[str, ...]:
    """A tag that gets another name on all posts is no state of each of them to go back to."""
    if save.caller.kind is not Kind.SYSTEM:
        return EDITED
    return tuple(name for name in EDITED if name != "tags")


def _own_authors(save: Save) -> Mapping[str, Any]:
    """The staff account that creates a post is its author; only editors and owners may choose other
    authors, or none."""
    if save.caller.kind in (Kind.OWNER, Kind.EDITOR):
        # The service itself, which may act for an owner, is nobody.
        is_begun = save.old is None and save.caller.id and "authors" not in save.given
        return {"authors": [save.caller.id]} if is_begun else {}
    if not save.caller.is_writer:
        return {}
    own = [save.caller.id] if save.old is None else save.old["authors"]
    is_omitted = save.old is None and not save.new["authors"]
    if save.new["authors"] != own and not is_omitted:
        raise Forbidden(staff_words("Only an editor or an owner can change the authors of a post."))
    return {"authors": own}


def post_events(change: Change) -> Iterator[str]:
    if change.new is None:
        yield "post.deleted"
        return
    if change.old is None:
        yield "post.created"
    if was_published(change):
        yield "post.published"
    elif was_unpublished(change):
        yield "post.unpublished"
    elif stays_published(change):
        yield "post.updated"


def post_jobs(change: Change) -> Iterator[Later]:
    """A scheduled post is published at its time. What was drawn for a post goes with it. The
    library learns what the post says of its pictures. Editors and writers hear of a review."""
    if was_scheduled(change):
        at = change.record["scheduled_for"]
        yield Later("posts.publish", {"id": change.record["id"]}, run_at=at)
    if change.new is None and change.record["status"] == PUBLISHED:
        key = share_file(change.record["tenant_id"], change.record["id"])
        yield Later("files.remove", {"keys": [key]})
    yield from alt_jobs(posts.name, change)
    yield from review_jobs(change)


def post_moves(change: Change) -> Iterator[Move]:
    if any(each and each["email_only"] for each in (change.old, change.new)):
        # Without a page before or after, there is nothing to lead from or to.
        return iter(())
    return moves_of(change, "/posts/")


def post_tallies(change: Change, _: str) -> Iterator[Tally]:
    """Published posts by the day of their publication, of the site and of each author: an import
    counts on the days of its posts, and a post that is taken back counts no more."""
    if not change.touches(("status", "published_at", "authors")):
        return
    before, after = _published_days(change.old), _published_days(change.new)
    for day, subject in before - after:
        yield Tally(POSTS_PUBLISHED, day, subject, -1)
    for day, subject in after - before:
        yield Tally(POSTS_PUBLISHED, day, subject)


def _published_days(post: Record | None) -> set[tuple[str, str]]:
    if post is None or post["status"] != PUBLISHED:
        return set()
    return {(day_of(post["published_at"]), each) for each in ("", *post["authors"])}


def share_file(tenant_id: str, post_id: str) -> str:
    """The key beside which the post's share picture is stored. There is no file of that key."""
    return file_key(tenant_id, posts, post_id, "share")


def _without_a_missed_schedule(post: Record, now: str) -> Mapping[str, Any]:
    """A post that should have been published while it was in the trash comes back as a draft: its
    restore must not publish it."""
    return {"scheduled_for": ""} if "" < post["scheduled_for"] <= now else {}


def post_snapshots(change: Change) -> Iterator[Snapshot]:
    return snapshots_of(change, "post", EDITED)


EDITED_FIELDS = (
    Text(name="title", required=True, max=255),
    Slug(name="slug", source="title"),
    CONTENT_HTML,
    Json(name="content_json"),
    CONTENT_SOURCE,
    EXCERPT,
    Select(name="visibility", values=("public", "members", "paid"), default="public"),
    TIERS,
    EMAIL_ONLY,
    POST_TAGS,
    RelationList(name="authors", to="_superusers", help="The people who wrote the post."),
    FEATURED_IMAGE,
    *SEO_FIELDS,
    LANGUAGE,
    TRANSLATIONS,
)
"""The fields that a working copy and a revision of a post have."""
EDITED = tuple(each.name for each in EDITED_FIELDS)

FILES = Uses(
    ("content_html", "featured_image"),
    shown=ShownParts(
        ("status", "published_at", "visibility", "tiers", "email_only"),
        shown_parts,
        since="published_at",
    ),
)
posts = Collection(
    "posts",
    (
        *EDITED_FIELDS,
        STATUS,
        PUBLISHED_AT,
        SCHEDULED_FOR,
        EDITION,
        SUMMARY,
        READING_MINUTES,
        *REVIEW_FIELDS,
        *REVISION_FIELDS,
        *CLEAN_FIELDS,
    ),
    audited="title",
    audited_without=STAMPED,
    is_audited=changes_more_than_a_draft,
    help="What a site publishes, including drafts.",
    rules=Rules(read=PUBLIC),
    site=SITE,
    listings=(LISTINGS, FILES.listings),
    editors=FREE,
    authors=Rules(read=OWN, create=OWN, update=OWN, delete=OWN),
    contributors=Rules(read=OWN, create=OWN_DRAFT, update=OWN_DRAFT, delete=OWN_DRAFT),
    before_save=before_save,
    trashed=Trashed(
        title="title",
        owners=lambda post: post["authors"],
        restored=_without_a_missed_schedule,
    ),
    rendering=RENDERING,
    events=post_events,
    jobs=post_jobs,
    snapshots=post_snapshots,
    followers=(FILES, Moves(post_moves), NamedTags()),
    counters=(
        Counter(
            by=("status", "visibility", "email_only"),
            late="published_at",
            late_if=("status", PUBLISHED),
        ),
        Counter(by=("status",), each="tags"),
    ),
    tallies=post_tallies,
    indexes=(
        # The public list reads only the first index, on every page; the second holds the few posts
        # that are scheduled.
        # `email_only` is behind them, so that the admin's list by status and visibility is in
        # order, too; with the title, a search in titles and its total read no row.
        Index(
            ("visibility", "status", "created", "id", "published_at", "email_only", "title"),
            name="ix_posts__public",
        ),
        Index(("visibility", "status", "published_at"), only_late="published_at"),
        # The orders of the lists. With the state, a list of published posts skips drafts without
        # reading them.
        Index(("created", "id", "status")),
        Index(("updated", "id", "status", "visibility")),
        # The few drafts, and the few posts that are not for everyone, among many others.
        Index(("created", "id"), unusual=("status", PUBLISHED), name="ix_posts__drafts_created"),
        Index(("updated", "id"), unusual=("status", PUBLISHED), name="ix_posts__drafts_updated"),
        Index(("visibility", "updated", "id"), unusual=("visibility", "public")),
        Index((letters_column("title"), "id")),
        # An order of the public API.
        Index(("published_at", "id")),
        Index(("language", "created", "id"), skip_empty="language"),
    ),
    by_letters=("title",),
    searchable=(
        Searched("title"),
        Searched("excerpt"),
        # Before the text, the end of which may be beyond what is indexed.
        Searched("tags"),
        Searched("content_html", is_html=True),
    ),
)

OWN_POST = "post_id.authors ?= @request.auth.id"
OWN_POST_DRAFT = f"{OWN_POST} && post_id.status = 'draft' && post_id.scheduled_for = ''"

post_revisions = revisions_of("post", EDITED_FIELDS, writers=OWN_POST)
post_working_copies = working_copies_of(
    "post",
    EDITED_FIELDS,
    authors=OWN_POST,
    contributors=Rules(OWN_POST, OWN_POST_DRAFT, OWN_POST_DRAFT, OWN_POST_DRAFT),
    stamp=update_content_source,
    names_files=("content_html", "featured_image"),
)

POSTS = TextKind(posts, post_working_copies, post_revisions, "post_id", EDITED)
