"""Converts an item of an export to the values of a record: its collection, values cut to the limits
of the fields, and the fingerprint that shows whether the source has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from masthead.base.languages.words import staff_marked, staff_words
from masthead.engine.records.collection import Collection
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.text import Slug, Text, is_web_address
from masthead.engine.records.write.slugs import slugify
from masthead.faces.importers.source import SourceComment, SourceMember, SourcePost, post_key
from masthead.features.commerce.collection import products
from masthead.features.pages.collection import pages
from masthead.features.posts.collection import posts

EXCERPT: Final = 300
MAX_AUTHORS: Final = next(each.max_items for each in posts.relation_lists if each.name == "authors")
UNTITLED: Final = "(Untitled)"

_COLLECTIONS: Final = {"post": posts, "page": pages, "product": products}


class Body(msgspec.Struct, frozen=True):
    """A prepared text with the new addresses of its pictures."""

    html: str
    content_json: dict[str, Any] | None = None
    featured_image: str = ""


class Draft(msgspec.Struct, frozen=True):
    """The values of a record, whose slug may still be taken."""

    collection: Collection
    values: dict[str, Any]
    slug: str
    warnings: tuple[str, ...] = ()


def collection_of(post: SourcePost) -> Collection:
    return _COLLECTIONS[post.kind]


def key_of_post(post: SourcePost) -> str:
    """With the kind, so that a page that became a post is another item."""
    return post_key(post.kind, post.source_id)


def key_of_member(member: SourceMember) -> str:
    return f"member:{member.email}"


class Prints(msgspec.Struct, frozen=True):
    """The fingerprints of a post: of what every import reads, and of its authors, which only some
    ask for."""

    text: str
    authors: str
    """'' where the import does not ask for them."""
    both: str
    """As versions before have stored them."""

    def are_those_of(self, stored: str) -> bool:
        """Whether the source has not changed, in what this import asks for."""
        text, _, authors = stored.partition(_AND)
        is_same = text == self.text and self.authors in ("", authors)
        return is_same or stored == self.both

    def to_store(self, stored: str = "") -> str:
        """`stored` is that of the import before, which may have asked for more."""
        authors = self.authors or stored.partition(_AND)[2]
        return f"{self.text}{_AND}{authors}" if authors else self.text


_AND: Final = "+"


def prints_of(post: SourcePost) -> Prints:
    values = _values(post)
    text = _digest(values)
    if not post.authors:
        return Prints(text, "", text)
    return Prints(text, _digest(list(post.authors)), _digest([*values, post.authors]))


def fingerprint(item: SourceMember | SourceComment) -> str:
    return _digest(_values(item))


def _values(item: SourcePost | SourceMember | SourceComment) -> list[Any]:
    values = [getattr(item, name) for name in _COUNTED[type(item)]]
    # Only those that are given, so that the fingerprints of versions before stay the same.
    later = [getattr(item, name) for name in _LATER.get(type(item), ())]
    # The newest of them: items with the others have a fingerprint of a version before.
    newest = [name for name in ("language", "levels") if hasattr(item, name)]
    for name in newest:
        if getattr(item, name):
            break
        later.pop()
    return [*values, later] if any(later) else values


def _digest(values: list[Any]) -> str:
    return hashlib.blake2b(msgspec.msgpack.encode(values), digest_size=16).hexdigest()


_LATER: Final[Mapping[type, tuple[str, ...]]] = {
    SourcePost: ("scheduled_for", "email_only", "levels", "language"),
    SourceMember: ("labels", "note", "past_state", "levels", "language"),
}
_NOT_COUNTED: Final = frozenset(
    {
        *("warnings", "authors", "other_paths", "scheduled_for", "email_only"),
        *("labels", "note", "past_state", "levels", "language"),
    }
)
_COUNTED: Final = {
    kind: tuple(name for name in kind.__struct_fields__ if name not in _NOT_COUNTED)
    for kind in (SourcePost, SourceMember, SourceComment)
}


def draft_of(
    post: SourcePost, body: Body, authors: Sequence[str] = (), tiers: Sequence[str] = ()
) -> Draft:
    """`authors` are account ids, `tiers` ids of this site's tiers."""
    cut = _Cutter(collection_of(post))
    if post.kind == "product":
        return _product(post, body, cut)
    values: dict[str, Any] = {
        "title": cut.text("title", _title(post)),
        "content_html": body.html,
        "content_json": body.content_json,
        "status": post.status,
    }
    if post.status == "published" and post.published_at:
        values["published_at"] = post.published_at
    values |= {
        # Plain text: every reader has removed the tags.
        "excerpt": " ".join(post.excerpt.split())[:EXCERPT],
        "featured_image": cut.address("featured_image", body.featured_image),
        "seo_title": cut.text("seo_title", post.seo_title),
        "seo_description": cut.text("seo_description", post.seo_description),
        "language": post.language,
    }
    if post.kind == "post":
        values |= {
            **({"scheduled_for": post.scheduled_for} if post.scheduled_for else {}),
            "visibility": post.visibility,
            "tiers": list(tiers),
            "email_only": post.email_only,
            "tags": cut.tags("tags", post.tags),
        }
        if authors:
            values["authors"] = list(authors[:MAX_AUTHORS])
    return Draft(cut.collection, values, cut.slug(_slug(post)), cut.warnings)


def stored_tag(name: str) -> str:
    """As `draft_of` stores it."""
    tags = posts.by_name["tags"]
    assert isinstance(tags, TextList)
    return name.strip()[: tags.max_length].strip()


def _product(post: SourcePost, body: Body, cut: _Cutter) -> Draft:
    values = {
        "name": cut.text("name", _title(post)),
        "description": body.html,
        "price": post.price_cents or 0,
        "currency": post.currency,
        "active": post.status == "published",
    }
    return Draft(products, values, _slug(post), cut.warnings)


def _title(post: SourcePost) -> str:
    return " ".join(post.title.split()) or UNTITLED


def _slug(post: SourcePost) -> str:
    """The slug of the source, which may be percent-encoded, if it is valid here."""
    wanted = unquote(post.slug).strip()
    field = collection_of(post).by_name["slug"]
    assert isinstance(field, Slug)
    assert field.pattern
    if len(wanted) <= field.max and "\ufffd" not in wanted and field.pattern.fullmatch(wanted):
        return wanted
    return slugify(wanted if wanted and not post.title else _title(post), field.max)


class _Cutter:
    """Cuts values to the limits of their fields, with a warning for each."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self._warnings: list[str] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    def text(self, name: str, value: str) -> str:
        field = self.collection.by_name[name]
        assert isinstance(field, Text)
        if len(value) > field.max:
            self._warnings.append(
                staff_words(
                    "%(field)s: cut to %(number)s characters.",
                    field=_LABELS[name],
                    number=field.max,
                )
            )
        return value[: field.max]

    def slug(self, wanted: str) -> str:
        field = self.collection.slug
        assert field is not None
        if wanted not in field.reserved:
            return wanted
        self._warnings.append(
            staff_words(
                "The site uses the address /%(slug)s itself, so the page has /%(other)s or the "
                "next free number.",
                slug=wanted,
                other=f"{wanted}-2",
            )
        )
        return f"{wanted}-2"

    def tags(self, name: str, values: Iterable[str]) -> list[str]:
        field = self.collection.by_name[name]
        assert isinstance(field, TextList)
        whole = [each.strip() for each in values]
        fitting = list(dict.fromkeys(each[: field.max_length].strip() for each in whole if each))
        if len(fitting) > field.max_items or any(len(each) > field.max_length for each in whole):
            self._warnings.append(
                staff_words("Some tags were cut or left out: too long or too many.")
            )
        return fitting[: field.max_items]

    def address(self, name: str, value: str) -> str:
        field = self.collection.by_name[name]
        assert isinstance(field, Text)
        if len(value) <= field.max and is_web_address(value):
            return value
        if value:
            self._warnings.append(staff_words("%(field)s: no usable address.", field=_LABELS[name]))
        return ""


_LABELS: Final = {
    "title": staff_marked("Title"),
    "name": staff_marked("Name"),
    "seo_title": staff_marked("SEO title"),
    "seo_description": staff_marked("SEO description"),
    "featured_image": staff_marked("Featured image"),
}
