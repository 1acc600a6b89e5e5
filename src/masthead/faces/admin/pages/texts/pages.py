"""The list of pages."""

from __future__ import annotations

from collections.abc import Sequence

from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.faces.admin.lists import Pick
from masthead.faces.admin.pages.texts.lists import SORTS, STATUSES, TextList
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import PAGES


class PageList(TextList, frozen=True):
    section = PAGES
    address = PAGES.address
    title = PAGES.label
    collection = PAGES.texts
    columns = ((words("Address"), "path"),)
    names = frozenset({"title", "slug", "status", "published_at", "created", "updated"})
    picks = (Pick("status", words("Status"), words("Any status"), STATUSES),)
    choices = (("sort", SORTS),)

    async def further(
        self, request: AdminRequest, texts: Sequence[Record]
    ) -> tuple[Sequence[Pick], list[tuple[str, ...]]]:
        return self.picks, [(f"{PAGES.site_prefix}{each['slug']}",) for each in texts]
