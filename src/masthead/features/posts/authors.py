"""The authors of a post in a request: accounts of staff, by their ids or email addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from masthead.base import ids
from masthead.base.email_address import normal_email
from masthead.base.errors import Invalid, Problem
from masthead.engine.records.fields.documents import TextList
from masthead.engine.records.fields.relation_list import RelationList
from masthead.engine.records.write.unit import Unit
from masthead.features.posts.collection import posts
from masthead.identity.tenants import superusers

_STORED = posts.by_name["authors"]
assert isinstance(_STORED, RelationList)
AUTHORS: Final = TextList(
    name=_STORED.name,
    max_items=_STORED.max_items,
    max_length=255,
    help="The people of the staff who wrote the post, in this order, by id or email address. "
    "Answers have their ids, and leave the list out where it is empty.",
)


async def with_author_ids(unit: Unit, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same body, changed in place: email addresses are replaced by ids. Raises Invalid."""
    if AUTHORS.name in given and isinstance(given, dict):
        found = [await _id_of(unit, each) for each in given[AUTHORS.name]]
        given[AUTHORS.name] = list(dict.fromkeys(found))
    return given


async def _id_of(unit: Unit, author: str) -> str:
    by = {"id": author} if ids.is_id(author) else {"email": normal_email(author)}
    found = await unit.find(superusers, by, limit=1) if "\x00" not in author else []
    if not found:
        message = f"There is no one on the staff with the id or email address {author[:80]!r}."
        raise Invalid({AUTHORS.name: Problem("validation_missing_rel_records", message)})
    return str(found[0]["id"])
