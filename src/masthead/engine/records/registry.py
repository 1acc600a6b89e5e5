"""All collections of a service."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from masthead.engine.records.collection import Collection, Pointer
from masthead.engine.records.fields.base import Field


class Registry:
    """All collections by name and id, and the relations that point at each."""

    def __init__(self, collections: Iterable[Collection]) -> None:
        self.collections = tuple(collections)
        self._by_key: dict[str, Collection] = {}
        for collection in self.collections:
            self._by_key[collection.name] = collection
            self._by_key[collection.id] = collection
        self.referrers: dict[str, tuple[tuple[Collection, Pointer], ...]] = {
            target.name: tuple(
                (source, relation)
                for source in self.collections
                for relation in source.pointers
                if relation.to == target.name
            )
            for target in self.collections
        }

    def with_fields_bound(self, name: str, bind: Callable[[Field], Field]) -> Registry:
        """A copy in which `bind` replaces each field of one collection, by the operator's
        settings."""
        return Registry(
            replace(each, fields=tuple(map(bind, each.fields))) if each.name == name else each
            for each in self.collections
        )

    def find(self, key: str) -> Collection | None:
        """Finds a collection by name or by collection id, as PocketBase's clients use either."""
        return self._by_key.get(key)

    def __getitem__(self, name: str) -> Collection:
        return self._by_key[name]

    def back_relation(self, collection: Collection, name: str) -> tuple[Collection, Pointer] | None:
        """`comments_via_post_id` on posts: the comments whose `post_id` is the record."""
        source_name, separator, field_name = name.partition("_via_")
        if not separator:
            return None
        for source, relation in self.referrers[collection.name]:
            if source.name == source_name and relation.name == field_name:
                return source, relation
        return None
