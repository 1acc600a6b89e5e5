"""Collections declare the fields that their lists depend on: an update of other fields leaves the
lists alone."""

from __future__ import annotations

from itertools import product

import pytest

from masthead.engine.records.collection import Collection, Record
from masthead.features.comments.collection import comments
from masthead.features.posts.collection import posts
from masthead.service.schema import registry


@pytest.mark.parametrize("collection", [posts, comments], ids=lambda each: each.name)
def test_lists_read_only_the_fields_that_they_declare(collection: Collection) -> None:
    listings = collection.listings[0]
    for values in product(*(_some_values(collection, name) for name in listings.by)):
        record: Record = dict(zip(listings.by, values, strict=True))
        assert list(listings.of(record | {"created": "2026-11-14T09:30:00.123Z"})) is not None


def test_these_are_all_collections_with_lists() -> None:
    assert {each.name for each in registry.collections if each.listings} == {
        "posts",
        "comments",
        # Only by the files that they use.
        *("_superusers", "site_settings", "pages", "products", "tags", "welcome_emails"),
        "snippets",
        *("post_working_copies", "page_working_copies"),
    }


def _some_values(collection: Collection, name: str) -> tuple[object, ...]:
    field = collection.by_name[name]
    if field.kind == "list":
        return ([], ["one"])
    return tuple(getattr(field, "values", ("", "one")))
