"""Ghost's export format: a JSON file of tables, a CSV of members, and the media files.

Bodies are HTML, which Ghost's importer converts for its editor. It also replaces the addresses of
the media files in the archive.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

import msgspec

from masthead import clock
from masthead.records.collection import Record
from masthead.records.write.publication import PUBLISHED
from masthead.site_export.archive import Archive, in_thread
from masthead.site_export.content import Blog, Content
from masthead.site_export.media_links import MediaLink, MediaLinks
from masthead.site_export.tables import write_row, write_rows
from masthead.site_export.tag_slugs import TagSlugs

VERSION = "5.130.2"
"""Of Ghost, with these tables; 5.x and 6.x import them."""
PLACEHOLDER = "__GHOST_URL__"
LONGEST_EXCERPT = 300
LONGEST_ALT = 125

MEMBER_COLUMNS = (
    *("id", "email", "name", "note", "subscribed_to_emails", "complimentary_plan"),
    *("stripe_customer_id", "created_at", "deleted_at", "labels", "tiers"),
)

_OWNER_ID = "1"
_OWNER_ROLE_ID = "000000000000000000000005"
_SPOOLED = ("posts_authors", "posts_meta", "posts_tags")
_NAMESPACE = uuid.UUID("8b6c1f0e-6f52-4f0a-9d0e-5a3a2c3f7e41")

_encode = msgspec.json.encode
Row = dict[str, Any]


async def write_ghost(content: Content, file: BinaryIO) -> None:
    blog = content.blog
    with Archive(file, clock.from_text(blog.now)) as archive:
        with archive.entry(f"{blog.slug}.ghost.{blog.now[:10]}.json") as entry:
            await _write_data(content, entry)
        with archive.entry("members.csv") as entry:
            write_row(entry, MEMBER_COLUMNS)
            async for members in content.members():
                await in_thread(write_rows, entry, map(_member, members))
        async for found in content.media():
            for item in found:
                stored = await content.file_of(item)
                if stored is not None:
                    await archive.add_stored(_path(item), stored.chunks)


async def _write_data(content: Content, entry: IO[bytes]) -> None:
    blog = content.blog
    meta = {"exported_on": _milliseconds(blog.now), "version": VERSION}
    entry.write(b'{"db":[{"meta":' + _encode(meta) + b',"data":{"posts":[')
    with ExitStack() as stack:
        tables = _Tables(blog, {name: stack.enter_context(TemporaryFile()) for name in _SPOOLED})
        await _write_posts(content, entry, tables)
        await in_thread(_write_tables, entry, tables)
    entry.write(b"}}]}\n")


async def _write_posts(content: Content, entry: IO[bytes], tables: _Tables) -> None:
    separator = b"\n"
    for kind, texts in (("post", content.posts()), ("page", content.pages())):
        async for page in texts:
            known = await content.media_in(page)
            rows = _post_rows(content, tables, kind, page, known)
            await in_thread(_write_rows, entry, rows, separator)
            separator = b",\n"
    entry.write(b"]")


def _write_rows(entry: IO[bytes], rows: Iterable[Row], separator: bytes) -> None:
    for row in rows:
        entry.write(separator + _encode(row))
        separator = b",\n"


def _write_tables(entry: IO[bytes], tables: _Tables) -> None:
    for name, rows in tables.all():
        entry.write(b"," + _encode(name) + b":[")
        for piece in rows:
            entry.write(piece)
        entry.write(b"]")


def _post_rows(
    content: Content,
    tables: _Tables,
    kind: str,
    page: list[Record],
    known: Mapping[str, Record],
) -> Iterator[Row]:
    """Read while they are written, in a thread."""
    links = content.links
    for each in page:
        picture = links.replace(each["featured_image"], known, _ghost_url)
        html = links.replace(each["content_html"], known, _ghost_url)
        tables.add(each, _alt_of(each, links, known))
        yield _post(kind, each, html, picture, content.blog)


def _ghost_url(_link: MediaLink, item: Record) -> str:
    return f"{PLACEHOLDER}/{_path(item)}"


def _path(item: Record) -> str:
    """Where Ghost stores a file of this type. Ids and stored names are safe in a path."""
    family = item["mime_type"].partition("/")[0]
    folder = {"image": "images", "video": "media", "audio": "media"}.get(family, "files")
    return f"content/{folder}/{item['id']}/{item['file']}"


def _alt_of(record: Record, links: MediaLinks, known: Mapping[str, Record]) -> str:
    linked = [link.media_id for link in links.find(record["featured_image"])]
    return known[linked[0]]["alt"] if linked and linked[0] in known else ""


def _post(kind: str, record: Record, html: str, picture: str, blog: Blog) -> Row:
    return {
        "id": record["id"],
        "uuid": str(uuid.uuid5(_NAMESPACE, record["id"])),
        "title": record["title"],
        "slug": record["slug"],
        "mobiledoc": None,
        "lexical": None,
        "html": html or None,
        "comment_id": record["id"],
        "plaintext": None,
        "feature_image": picture or None,
        "featured": 0,
        "type": kind,
        "status": _status(record, blog),
        "locale": None,
        "visibility": record["visibility"],
        "email_recipient_filter": "all",
        "created_at": record["created"],
        "updated_at": record["updated"],
        "published_at": record["published_at"] or None,
        "custom_excerpt": _shortened(record["excerpt"]) or None,
        "codeinjection_head": None,
        "codeinjection_foot": None,
        "custom_template": None,
        "canonical_url": None,
        "newsletter_id": None,
        "show_title_and_feature_image": 1,
    }


def _status(record: Record, blog: Blog) -> str:
    if record["status"] != PUBLISHED:
        return "draft"
    return "scheduled" if record["published_at"] > blog.now else "published"


def _shortened(excerpt: str) -> str:
    """Ghost refuses a post with a longer excerpt."""
    if len(excerpt) <= LONGEST_EXCERPT:
        return excerpt
    return excerpt[: LONGEST_EXCERPT - 1].rsplit(None, 1)[0] + "…"


class _Tables:
    """The tables after the posts, spooled to disk until the posts are written."""

    def __init__(self, blog: Blog, files: Mapping[str, IO[bytes]]) -> None:
        self._blog = blog
        self._files = files
        self._tags: dict[str, Row] = {}
        self._slugs = TagSlugs()

    def add(self, record: Record, picture_alt: str) -> None:
        post_id = record["id"]
        author = {"post_id": post_id, "author_id": _OWNER_ID, "sort_order": 0}
        self._spool("posts_authors", _key(post_id, "author"), author)
        for position, name in enumerate(record["tags"]):
            tag = {"post_id": post_id, "tag_id": self._tag(name)["id"], "sort_order": position}
            self._spool("posts_tags", _key(post_id, name), tag)
        if record["seo_title"] or record["seo_description"] or picture_alt:
            meta = _meta(post_id, record["seo_title"], record["seo_description"], picture_alt)
            self._spool("posts_meta", _key(post_id, "meta"), meta)

    def all(self) -> Iterable[tuple[str, Iterable[bytes]]]:
        for name, file in self._files.items():
            yield name, _rows_in(file)
        fixed = {
            "roles": [{"id": _OWNER_ROLE_ID, "name": "Owner", "description": "Blog Owner"}],
            "roles_users": [
                {"id": _key("owner", "role"), "role_id": _OWNER_ROLE_ID, "user_id": _OWNER_ID}
            ],
            "settings": _settings(self._blog),
            "tags": list(self._tags.values()),
            "users": [_owner(self._blog)],
        }
        for name, rows in fixed.items():
            yield name, [b",\n".join(map(_encode, rows))]

    def _spool(self, table: str, row_id: str, row: Row) -> None:
        self._files[table].write(b",\n" + _encode({"id": row_id, **row}))

    def _tag(self, name: str) -> Row:
        if name not in self._tags:
            self._tags[name] = _tag_row(name, self._slugs.of(name), self._blog.now)
        return self._tags[name]


def _rows_in(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    # Without the comma before the first row.
    file.read(1)
    while piece := file.read(65_536):
        yield piece


def _key(*parts: str) -> str:
    """An id in Ghost's format, the same in every export."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _meta(post_id: str, title: str, description: str, picture_alt: str) -> Row:
    return {
        "post_id": post_id,
        "og_image": None,
        "og_title": None,
        "og_description": None,
        "twitter_image": None,
        "twitter_title": None,
        "twitter_description": None,
        "meta_title": title or None,
        "meta_description": description or None,
        "email_subject": None,
        "frontmatter": None,
        "feature_image_alt": picture_alt[:LONGEST_ALT] or None,
        "feature_image_caption": None,
        "email_only": 0,
    }


def _tag_row(name: str, slug: str, now: str) -> Row:
    return {
        "id": _key("tag", name),
        "name": name,
        "slug": slug,
        "description": None,
        "feature_image": None,
        "parent_id": None,
        "visibility": "public",
        "meta_title": None,
        "meta_description": None,
        "created_at": now,
        "updated_at": now,
    }


def _settings(blog: Blog) -> list[Row]:
    known = {"title": blog.name, "description": blog.description}
    return [
        {
            "id": _key("setting", key),
            "group": "site",
            "key": key,
            "value": value,
            "type": "string",
            "flags": "PUBLIC",
            "created_at": blog.now,
            "updated_at": blog.now,
        }
        for key, value in known.items()
    ]


def _owner(blog: Blog) -> Row:
    return {
        "id": _OWNER_ID,
        "name": blog.name,
        "slug": blog.slug,
        "email": blog.owner_email,
        "status": "active",
        "visibility": "public",
        "created_at": blog.now,
        "updated_at": blog.now,
    }


def _member(member: Record) -> tuple[object, ...]:
    is_paid = member["tier"] == "paid"
    # Ghost's importer, and ours, treats every member with a customer id as paying.
    customer = member["payment_customer_id"] if is_paid else ""
    label = "" if member["status"] == "active" else member["status"]
    return (
        *(member["id"], member["email"], member["name"], "", member["newsletter"]),
        "true" if is_paid and not customer else "",
        *(customer, member["created"], "", label, ""),
    )


def _milliseconds(moment: str) -> int:
    return round(clock.from_text(moment).timestamp() * 1000)
