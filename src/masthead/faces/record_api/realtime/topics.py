"""Topics of a client's subscriptions: `posts`, `posts/*` or `posts/<id>`, with options in a
query."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qs
from zlib import crc32

import msgspec

from masthead.base.errors import BadRequest
from masthead.engine.records.collection import Collection
from masthead.engine.records.read.expand import Expansion
from masthead.engine.records.read.projection import Projection
from masthead.engine.records.registry import Registry

EVERY_RECORD = "*"


class Options(msgspec.Struct, frozen=True):
    """Options of a subscription: which records are sent, and which parts of them."""

    filter: str = ""
    expand: str = ""
    fields: str = ""


class Subscription(msgspec.Struct, frozen=True):
    name: str
    """As the client wrote it: its messages are events of this name."""
    collection: Collection
    record_id: str
    options: Options

    @property
    def number(self) -> int:
        """Orders the messages of one change, whatever other subscriptions there are."""
        return crc32(self.name.encode())


def different_options(subscriptions: Iterable[Subscription]) -> frozenset[Options]:
    """Without those of subscriptions that have none."""
    return frozenset(each.options for each in subscriptions) - {Options()}


def read_subscriptions(names: Iterable[str], registry: Registry) -> list[Subscription]:
    found = (read_subscription(name, registry) for name in dict.fromkeys(names))
    return [each for each in found if each is not None]


def read_subscription(name: str, registry: Registry) -> Subscription | None:
    """None for a topic that no message can have. As in PocketBase, that is no error: a client may
    have topics of its own."""
    topic, _, query = name.partition("?")
    collection_name, _, record_id = topic.partition("/")
    collection = registry.find(collection_name)
    if collection is None or "\n" in name or "\r" in name:
        return None
    try:
        options = _read_options(query)
        Expansion.parse(options.expand)
        Projection.parse(options.fields)
    except BadRequest:
        return None
    return Subscription(name, collection, record_id or EVERY_RECORD, options)


class _WrittenOptions(msgspec.Struct):
    query: dict[str, str | int | float | bool | None] = {}


def _read_options(query: str) -> Options:
    """Options that can't be read are none, as in PocketBase. Its clients also send headers, which
    no rule of ours reads."""
    try:
        [written] = parse_qs(query, max_num_fields=20).get("options", ["{}"])
        given = msgspec.json.decode(written, type=_WrittenOptions).query
    except (ValueError, msgspec.DecodeError, RecursionError):
        return Options()
    texts = {name: _text(given.get(name)) for name in ("filter", "expand", "fields")}
    return Options(**texts)


def _text(value: str | float | bool | None) -> str:
    return "" if value is None else str(value)
