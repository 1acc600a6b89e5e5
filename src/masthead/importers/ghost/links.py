"""What an export says of its posts and members outside of their own rows, by their ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from masthead.importers.decoding import storable

INTERNAL: Final = "#"
_PAYING: Final = frozenset({"active", "trialing", "past_due", "unpaid"})


@dataclass(frozen=True, slots=True)
class Meta:
    title: str
    description: str
    image_alt: str


def text(value: object) -> str:
    return storable(value).strip() if isinstance(value, str) else ""


def key(value: object) -> str:
    """An id: text since 1.0, a number before. '' for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value)


class Links:
    """Filled by a first reading of all tables; grows with their rows, but holds no text of them."""

    def __init__(self) -> None:
        self.posts = 0
        self.members = 0
        self._tags: dict[str, str] = {}
        self._post_tags: dict[str, list[tuple[int, str]]] = {}
        self._metas: dict[str, Meta] = {}
        self._customers: dict[str, str] = {}
        self._paying: set[str] = set()
        # Hashes, because there may be a row for every member.
        self._readers: set[int] | None = None

    def add(self, table: str, row: Any) -> None:
        if table == "posts":
            self.posts += 1
        elif table == "members":
            self.members += 1
        elif isinstance(row, dict) and table in _TABLES:
            _TABLES[table](self, row)

    def tags(self, post_id: str) -> tuple[str, ...]:
        """Names in the post's own order, each once, without those for the site's insides."""
        ordered = sorted(self._post_tags.get(post_id, ()), key=lambda each: each[0])
        return tuple(dict.fromkeys(self._tags[tag] for _, tag in ordered if tag in self._tags))

    def meta(self, post_id: str) -> Meta | None:
        return self._metas.get(post_id)

    def customer(self, member_id: str) -> str:
        return self._customers.get(member_id, "")

    def is_paying(self, customer: str) -> bool:
        return customer in self._paying

    def gets_newsletter(self, member_id: str) -> bool | None:
        """None where the export does not list who gets it."""
        return None if self._readers is None else hash(member_id) in self._readers

    def _add_tag(self, row: dict[str, Any]) -> None:
        name = text(row.get("name"))
        if name and not name.startswith(INTERNAL) and row.get("visibility") != "internal":
            self._tags[key(row.get("id"))] = name

    def _add_post_tag(self, row: dict[str, Any]) -> None:
        order = row.get("sort_order")
        tags = self._post_tags.setdefault(key(row.get("post_id")), [])
        tags.append((order if isinstance(order, int) else len(tags), key(row.get("tag_id"))))

    def _add_meta(self, row: dict[str, Any]) -> None:
        names = ("meta_title", "meta_description", "feature_image_alt")
        meta = Meta(*(text(row.get(name)) for name in names))
        if meta != Meta("", "", ""):
            self._metas[key(row.get("post_id"))] = meta

    def _add_customer(self, row: dict[str, Any]) -> None:
        self._customers.setdefault(key(row.get("member_id")), text(row.get("customer_id")))

    def _add_subscription(self, row: dict[str, Any]) -> None:
        if row.get("status") in _PAYING:
            self._paying.add(text(row.get("customer_id")))

    def _add_reader(self, row: dict[str, Any]) -> None:
        self._readers = self._readers or set()
        self._readers.add(hash(key(row.get("member_id"))))


_TABLES: Final = {
    "tags": Links._add_tag,
    "posts_tags": Links._add_post_tag,
    "posts_meta": Links._add_meta,
    "members_stripe_customers": Links._add_customer,
    "members_stripe_customers_subscriptions": Links._add_subscription,
    "members_newsletters": Links._add_reader,
}
