"""Ghost's export format: a JSON file of tables, a CSV of members, and the media files.

Bodies are HTML, which Ghost's importer converts for its editor. It also replaces the addresses of
the media files in the archive.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from html import escape
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO
from urllib.parse import urlsplit

import msgspec

from masthead.base import clock
from masthead.content.cards.exports import for_ghost
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.collection import Record
from masthead.engine.records.write.slugs import slugify
from masthead.faces.site_export.archive import Archive, in_thread
from masthead.faces.site_export.content import Blog, Content, scheduled_for
from masthead.faces.site_export.media_links import MediaLink, MediaLinks
from masthead.faces.site_export.tables import write_row, write_rows
from masthead.faces.site_export.tag_slugs import TagSlugs

VERSION = "5.130.2"
"""The version of Ghost with these tables; 5.x and 6.x import them."""
PLACEHOLDER = "__GHOST_URL__"
LONGEST_EXCERPT = 300
LONGEST_ALT = 125

MEMBER_COLUMNS = (
    *("id", "email", "name", "note", "subscribed_to_emails", "complimentary_plan"),
    *("stripe_customer_id", "created_at", "deleted_at", "labels", "tiers", "masthead_language"),
)

_OWNER_ID = "1"
_OWNER_ROLE_ID = "000000000000000000000005"
_AUTHOR_ROLE_ID = "000000000000000000000003"
_SPOOLED = ("posts_authors", "posts_meta", "posts_tags", "posts_products", "comments")
_STATES = ("cancelled", "past_due")
"""States of members that become labels; Ghost has no field for them."""
_COMMENT_STATES = {"approved": "published", "pending": "hidden", "spam": "hidden"}
_SLUG_CHARACTERS = 191
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
        files = {name: stack.enter_context(TemporaryFile()) for name in _SPOOLED}
        tables = _Tables(blog, files, await content.writers(), await content.tiers())
        await _write_posts(content, entry, tables)
        await in_thread(_write_tables, entry, tables)
    entry.write(b"}}]}\n")


async def _write_posts(content: Content, entry: IO[bytes], tables: _Tables) -> None:
    separator = b"\n"
    for kind, texts in (("post", content.posts()), ("page", content.pages())):
        async for page in texts:
            known = await content.media_in(page)
            if kind == "post":
                tables.add_comments(await content.comments_of(page))
            rows = _post_rows(content, tables, kind, page, known=known)
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
    *,
    known: Mapping[str, Record],
) -> Iterator[Row]:
    """Read while they are written, in a thread."""
    links = content.links
    for each in page:
        picture = links.replace(each["featured_image"], known, _ghost_url)
        html = links.replace(for_ghost(each["content_html"]), known, _ghost_url)
        tables.add(each, _alt_of(each, links, known))
        yield _post(kind, each, html, picture, blog=content.blog)


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


def _post(kind: str, record: Record, html: str, picture: str, *, blog: Blog) -> Row:
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
        "locale": language if (language := record["language"]) and len(language) <= 6 else None,
        "visibility": "tiers" if record["tiers"] else record["visibility"],
        "email_recipient_filter": "all",
        "created_at": record["created"],
        "updated_at": record["updated"],
        "published_at": scheduled_for(record, blog.now) or record["published_at"] or None,
        "custom_excerpt": _shortened(record["excerpt"]) or None,
        "codeinjection_head": None,
        "codeinjection_foot": None,
        "custom_template": None,
        "canonical_url": None,
        "newsletter_id": None,
        "show_title_and_feature_image": 1,
    }


def _status(record: Record, blog: Blog) -> str:
    if scheduled_for(record, blog.now):
        return "scheduled"
    if record["status"] != PUBLISHED:
        return "draft"
    return "sent" if record["email_only"] else "published"


def _shortened(excerpt: str) -> str:
    """Ghost refuses a post with a longer excerpt."""
    if len(excerpt) <= LONGEST_EXCERPT:
        return excerpt
    return excerpt[: LONGEST_EXCERPT - 1].rsplit(None, 1)[0] + "…"


class _Tables:
    """The tables after the posts, spooled to disk until the posts are written."""

    def __init__(
        self,
        blog: Blog,
        files: Mapping[str, IO[bytes]],
        authors: Sequence[Record],
        tiers: Sequence[Record],
    ) -> None:
        self._levels = {each["name"]: each for each in tiers}
        self._blog = blog
        self._authors = authors
        self._author_ids = {each["id"] for each in authors}
        self._files = files
        self._tags: dict[str, Row] = {}
        self._slugs = TagSlugs()

    def add(self, record: Record, picture_alt: str) -> None:
        post_id = record["id"]
        named = [each for each in record["authors"] if each in self._author_ids]
        for position, author_id in enumerate(named or [_OWNER_ID]):
            author = {"post_id": post_id, "author_id": author_id, "sort_order": position}
            self._spool("posts_authors", _key(post_id, "author", author_id), author)
        for position, name in enumerate(record["tags"]):
            tag = {"post_id": post_id, "tag_id": self._tag(name)["id"], "sort_order": position}
            self._spool("posts_tags", _key(post_id, name), tag)
        for position, name in enumerate(record["tiers"]):
            level = {"product_id": _key("product", name), "sort_order": position}
            row_id = _key(post_id, "product", name)
            self._spool("posts_products", row_id, {"post_id": post_id, **level})
        texts = (record["seo_title"], record["seo_description"], picture_alt)
        if any(texts) or record["email_only"]:
            meta = _meta(record, picture_alt)
            self._spool("posts_meta", _key(post_id, "meta"), meta)

    def add_comments(self, comments: Mapping[str, list[Record]]) -> None:
        for each in (each for thread in comments.values() for each in thread):
            self._spool("comments", each["id"], _comment(each))

    def all(self) -> Iterable[tuple[str, Iterable[bytes]]]:
        for name, file in self._files.items():
            yield name, _rows_in(file)
        fixed = {
            "roles": [
                {"id": _OWNER_ROLE_ID, "name": "Owner", "description": "Blog Owner"},
                {"id": _AUTHOR_ROLE_ID, "name": "Author", "description": "Authors"},
            ],
            "roles_users": [
                _role_of(_OWNER_ID, _OWNER_ROLE_ID),
                *(_role_of(each["id"], _AUTHOR_ROLE_ID) for each in self._authors),
            ],
            # Ghost calls tiers products in its tables.
            "products": list(map(_product, self._levels.values())),
            "settings": _settings(self._blog),
            "tags": list(self._tags.values()),
            "users": [_owner(self._blog, self._authors), *map(_author, self._authors)],
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


def _meta(record: Record, picture_alt: str) -> Row:
    return {
        "post_id": record["id"],
        "og_image": None,
        "og_title": None,
        "og_description": None,
        "twitter_image": None,
        "twitter_title": None,
        "twitter_description": None,
        "meta_title": record["seo_title"] or None,
        "meta_description": record["seo_description"] or None,
        "email_subject": None,
        "frontmatter": None,
        "feature_image_alt": picture_alt[:LONGEST_ALT] or None,
        "feature_image_caption": None,
        "email_only": int(record["email_only"]),
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


def _product(tier: Record) -> Row:
    return {
        "id": _key("product", tier["name"]),
        "name": tier["name"],
        "slug": slugify(tier["name"], _SLUG_CHARACTERS),
        "active": int(tier["active"]),
        "type": "paid",
        "visibility": "public",
        "currency": tier["currency"].lower(),
        "monthly_price": tier["price"] if tier["interval"] == "month" else None,
        "yearly_price": tier["price"] if tier["interval"] == "year" else None,
        "created_at": tier["created"],
        "updated_at": tier["updated"],
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


def _role_of(user_id: str, role_id: str) -> Row:
    return {"id": _key(user_id, "role"), "role_id": role_id, "user_id": user_id}


def _author(account: Record) -> Row:
    return {
        "id": account["id"],
        "name": account["name"],
        "slug": account["slug"] or account["id"],
        "email": account["email"],
        "bio": account["bio"] or None,
        "status": "active",
        "visibility": "public",
        "created_at": account["created"],
        "updated_at": account["updated"],
    }


def _comment(comment: Record) -> Row:
    """Ghost has comments of members only; who has written it, and its words, are ours."""
    lines = escape(comment["body"]).split("\n")
    return {
        "post_id": comment["post_id"],
        "member_id": None,
        "parent_id": comment["parent_id"] or None,
        "status": _COMMENT_STATES[comment["status"]],
        "html": f"<p>{'<br>'.join(lines)}</p>",
        "edited_at": None,
        "created_at": comment["created"],
        "updated_at": comment["updated"],
        "masthead_name": comment["author_name"],
        "masthead_email": comment["author_email"],
        "masthead_body": comment["body"],
        "masthead_status": comment["status"],
    }


def _owner(blog: Blog, authors: Sequence[Record]) -> Row:
    """Ghost replaces it by its own owner. It is the author of posts without one."""
    is_author = any(each["email"] == blog.owner_email for each in authors)
    host = urlsplit(blog.url).hostname
    return {
        "id": _OWNER_ID,
        "name": blog.name,
        "slug": blog.slug,
        # Ghost has each address once.
        "email": f"owner@{host}" if is_author else blog.owner_email,
        "masthead_stands_for_none": 1,
        "status": "active",
        "visibility": "public",
        "created_at": blog.now,
        "updated_at": blog.now,
    }


def _member(member: Record) -> tuple[object, ...]:
    is_paid = member["tier"] == "paid"
    # Ghost's importer, and ours, treats every member with a customer id as paying.
    customer = member["payment_customer_id"] if is_paid else ""
    # A comma separates labels there; one that is called like a state must not be read as it.
    labels = [each.replace(",", " ") for each in member["labels"]]
    labels = [f"{each} (label)" if each in _STATES else each for each in labels]
    labels += [member["status"]] if member["status"] in _STATES else []
    return (
        *(member["id"], member["email"], member["name"], member["note"], member["newsletter"]),
        "true" if is_paid and not customer else "",
        *(customer, member["created"], "", ",".join(labels)),
        member["tier_name"].replace(",", " ") if is_paid else "",
        member["language"],
    )


def _milliseconds(moment: str) -> int:
    return round(clock.from_text(moment).timestamp() * 1000)
