"""Related rows of posts and members, by id: tags, authors, meta data, payment customers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from masthead.base.email_address import is_email, normal_email
from masthead.base.languages.words import staff_marked, staff_words
from masthead.faces.importers.files.decoding import storable
from masthead.faces.importers.source import BadFile, Skipped, SourceAuthor

INTERNAL: Final = "#"
MAX_POSTS: Final = 500_000
MAX_COMMENTS: Final = 2_000_000
MAX_HELD: Final = 120_000_000
"""Estimated bytes. Half a million members and a hundred thousand posts need a third of it."""
_MAX_TEXT: Final = 500
_ENTRY: Final = 100
_LONGEST_KEY: Final = 100
_MAX_NAME: Final = 255
_MAX_BIO: Final = 2_000
MAX_AUTHORS: Final = 10_000
"""Held in memory; all are counted."""
NO_EMAIL: Final = staff_marked("without a usable email address")
MAX_TAGS: Final = 100_000
MAX_BEFORE_OWNERS: Final = 100_000
"""Links that may precede the table that they belong to."""
ALWAYS_ALLOWED: Final = 20_000
LINKS_PER_OWNER: Final = 30
"""On average, beyond `ALWAYS_ALLOWED`: tags of a post or newsletters of a member."""
_TOO_MUCH: Final = staff_words("The export links far more tags and members than it has room for.")
_PAYING: Final = frozenset({"active", "trialing", "past_due", "unpaid"})


class Meta(Struct, frozen=True):
    title: str
    description: str
    image_alt: str
    email_only: bool = False


def text(value: object) -> str:
    return storable(value).strip() if isinstance(value, str) else ""


def key(value: object) -> str:
    """An id: text since 1.0, a number before. '' for anything else; a digest where it is longer
    than any id."""
    given = str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value)
    if len(given) <= _LONGEST_KEY:
        return given
    return hashlib.sha256(given.encode()).hexdigest()


class Links:
    """Filled by a first pass over all tables. Holds no bodies of posts."""

    def __init__(self) -> None:
        self.posts = 0
        self.members = 0
        self.users = 0
        self.comments = 0
        self.is_ours = False
        self.authors: dict[str, SourceAuthor | Skipped] = {}
        self._post_authors: dict[str, list[tuple[int, str]]] = {}
        self._tags: dict[str, str] = {}
        self.tag_slugs: dict[str, str] = {}
        """Names by slug, without internal tags."""
        self.author_slugs: dict[str, str] = {}
        """Ids by slug."""
        self._post_tags: dict[str, list[tuple[int, str]]] = {}
        self._metas: dict[str, Meta] = {}
        self._customers: dict[str, str] = {}
        self._paying: set[str] = set()
        self._labels: dict[str, str] = {}
        self._member_labels: dict[str, list[str]] = {}
        self._levels: dict[str, str] = {}
        self._member_levels: dict[str, list[str]] = {}
        self._post_levels: dict[str, list[tuple[int, str]]] = {}
        # Hashes, to save memory: there may be a row for every member.
        self._newsletter_members: set[int] | None = None
        self._held = 0
        self._linked: Counter[str] = Counter()

    def add(self, table: str, row: Any) -> None:
        if table == "posts":
            self.posts += 1
            if self.posts > MAX_POSTS:
                raise BadFile(
                    staff_words(
                        "The export has more than %(number)s posts.", number=f"{MAX_POSTS:,}"
                    )
                )
        elif table == "users":
            # In our own exports, the site is the author of posts without one.
            if isinstance(row, dict) and row.get("masthead_stands_for_none"):
                self.is_ours = True
                return
            self.users += 1
            if isinstance(row, dict) and self.users <= MAX_AUTHORS:
                self._add_author(row)
        elif table == "comments":
            self.comments += 1
            if self.comments > MAX_COMMENTS:
                raise BadFile(
                    staff_words(
                        "The export has more than %(number)s comments.", number=f"{MAX_COMMENTS:,}"
                    )
                )
        elif table == "members":
            self.members += 1
        elif isinstance(row, dict) and table in _TABLES:
            self._count(table)
            _TABLES[table](self, row)

    def _count(self, table: str) -> None:
        """Refuses more links than the posts or members read so far can have."""
        self._linked[table] += 1
        count = self._linked[table]
        if count <= ALWAYS_ALLOWED:
            return
        if table in ("tags", "labels", "products"):
            limit = MAX_TAGS
        else:
            owners = self.members if table.startswith("members") else self.posts
            by_owners = max(ALWAYS_ALLOWED, owners * LINKS_PER_OWNER)
            limit = by_owners if owners else MAX_BEFORE_OWNERS
        if count > limit:
            raise BadFile(
                staff_words(
                    "The export has more than %(number)s rows in %(table)s. If this is correct, "
                    "export the site again in several parts.",
                    number=f"{limit:,}",
                    table=table,
                )
            )

    def tags(self, post_id: str) -> tuple[str, ...]:
        """Names in the order of the post, each once, without internal tags."""
        ordered = sorted(self._post_tags.get(post_id, ()), key=lambda each: each[0])
        return tuple(dict.fromkeys(self._tags[tag] for _, tag in ordered if tag in self._tags))

    def authors_of(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """In the order of the post. Before 1.22 a post had one author, in its own row."""
        ordered = sorted(self._post_authors.get(key(row.get("id")), ()), key=lambda each: each[0])
        ids = [author for _, author in ordered] or [key(row.get("author_id"))]
        return tuple(dict.fromkeys(each for each in ids if each in self.authors))

    def meta(self, post_id: str) -> Meta | None:
        return self._metas.get(post_id)

    def labels(self, member_id: str) -> tuple[str, ...]:
        ids = self._member_labels.get(member_id, ())
        return tuple(self._labels[each] for each in ids if each in self._labels)

    def levels(self, member_id: str) -> tuple[str, ...]:
        """The names of the member's tiers, which Ghost calls products in its tables."""
        ids = self._member_levels.get(member_id, ())
        return tuple(self._levels[each] for each in ids if each in self._levels)

    def levels_of_post(self, post_id: str) -> tuple[str, ...]:
        ordered = sorted(self._post_levels.get(post_id, ()), key=lambda each: each[0])
        return tuple(dict.fromkeys(self._levels[id_] for _, id_ in ordered if id_ in self._levels))

    def customer(self, member_id: str) -> str:
        return self._customers.get(member_id, "")

    def is_paying(self, customer: str) -> bool:
        return customer in self._paying

    def gets_newsletter(self, member_id: str) -> bool | None:
        """None where the export has no such list."""
        members = self._newsletter_members
        return None if members is None else hash(member_id) in members

    def _add_tag(self, row: dict[str, Any]) -> None:
        name = text(row.get("name"))
        if name and not name.startswith(INTERNAL) and row.get("visibility") != "internal":
            self._tags[key(row.get("id"))] = self._limited(name)
            if slug := self._limited(text(row.get("slug"))):
                self.tag_slugs.setdefault(slug, self._tags[key(row.get("id"))])

    def _add_author(self, row: dict[str, Any]) -> None:
        source_id, address = key(row.get("id")), normal_email(text(row.get("email")))
        if slug := self._limited(text(row.get("slug"))):
            self.author_slugs.setdefault(slug, source_id)
        if source_id and is_email(address):
            name, bio = self._limited(text(row.get("name"))), text(row.get("bio"))[:_MAX_BIO]
            self._held += len(bio)
            self.authors[source_id] = SourceAuthor(
                source_id, address, name[:_MAX_NAME], bio, slug[:_MAX_NAME]
            )
        else:
            self.authors[source_id] = Skipped("author", source_id, NO_EMAIL)

    def _add_ordered(
        self, links: dict[str, list[tuple[int, str]]], name: str, row: dict[str, Any]
    ) -> None:
        """A link of a post, with its place among the others."""
        order = row.get("sort_order")
        found = links.setdefault(key(row.get("post_id")), [])
        found.append(
            (order if isinstance(order, int) else len(found), self._limited(key(row.get(name))))
        )

    def _add_post_author(self, row: dict[str, Any]) -> None:
        self._add_ordered(self._post_authors, "author_id", row)

    def _add_post_tag(self, row: dict[str, Any]) -> None:
        self._add_ordered(self._post_tags, "tag_id", row)

    def _add_post_level(self, row: dict[str, Any]) -> None:
        self._add_ordered(self._post_levels, "product_id", row)

    def _add_meta(self, row: dict[str, Any]) -> None:
        names = ("meta_title", "meta_description", "feature_image_alt")
        texts = [text(row.get(name)) for name in names]
        email_only = row.get("email_only") in (1, True, "1", "true")
        if any(texts) or email_only:
            title, description, image_alt = map(self._limited, texts)
            meta = Meta(title, description, image_alt, email_only)
            self._metas[key(row.get("post_id"))] = meta

    def _add_customer(self, row: dict[str, Any]) -> None:
        customer = self._limited(text(row.get("customer_id")))
        self._customers.setdefault(key(row.get("member_id")), customer)

    def _add_subscription(self, row: dict[str, Any]) -> None:
        if row.get("status") in _PAYING:
            self._paying.add(self._limited(text(row.get("customer_id"))))

    def _add_label(self, row: dict[str, Any]) -> None:
        self._labels[key(row.get("id"))] = self._limited(text(row.get("name")))

    def _add_member_label(self, row: dict[str, Any]) -> None:
        labels = self._member_labels.setdefault(key(row.get("member_id")), [])
        labels.append(self._limited(key(row.get("label_id"))))

    def _add_level(self, row: dict[str, Any]) -> None:
        self._levels[key(row.get("id"))] = self._limited(text(row.get("name")))

    def _add_member_level(self, row: dict[str, Any]) -> None:
        levels = self._member_levels.setdefault(key(row.get("member_id")), [])
        levels.append(self._limited(key(row.get("product_id"))))

    def _add_newsletter_member(self, row: dict[str, Any]) -> None:
        self._newsletter_members = self._newsletter_members or set()
        self._newsletter_members.add(hash(key(row.get("member_id"))))
        if len(self._newsletter_members) * _ENTRY > MAX_HELD:
            raise BadFile(_TOO_MUCH)

    def _limited(self, given: str) -> str:
        """Cut to the limit of one text. Raises `BadFile` beyond the limit of all texts."""
        self._held += _ENTRY + min(len(given), _MAX_TEXT)
        if self._held > MAX_HELD:
            raise BadFile(_TOO_MUCH)
        return given[:_MAX_TEXT]


_TABLES: Final = {
    "tags": Links._add_tag,
    "posts_tags": Links._add_post_tag,
    "posts_authors": Links._add_post_author,
    "posts_products": Links._add_post_level,
    "posts_meta": Links._add_meta,
    "members_stripe_customers": Links._add_customer,
    "members_stripe_customers_subscriptions": Links._add_subscription,
    "labels": Links._add_label,
    "members_labels": Links._add_member_label,
    "products": Links._add_level,
    "members_products": Links._add_member_level,
    "members_newsletters": Links._add_newsletter_member,
}
