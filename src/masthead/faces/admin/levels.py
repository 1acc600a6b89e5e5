"""The tiers of the site, to choose from."""

from __future__ import annotations

from typing import Final

from masthead.base.languages.words import words
from masthead.faces.admin.request import AdminRequest
from masthead.features.payments.collection import tiers

MOST: Final = 100
_SHOWN: Final = frozenset({"name", "active"})


async def level_names(request: AdminRequest) -> dict[str, str]:
    """The names by id, in the order of the site."""
    found = await request.first(tiers, MOST, sort="position,created", names=_SHOWN)
    return {
        each["id"]: each["name"]
        if each["active"]
        else words("%(name)s (not on sale)", name=each["name"])
        for each in found
    }
