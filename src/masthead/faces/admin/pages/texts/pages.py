"""The list of pages."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import ClassVar

from masthead.engine.records.collection import Record
from masthead.faces.admin.endpoint import Answer
from masthead.faces.admin.lists import options
from masthead.faces.admin.pages.texts.lists import (
    SORTS,
    STATUSES,
    Column,
    Pick,
    TextFilters,
    show_list,
)
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import PAGES, Section


class PageFilters(TextFilters, frozen=True):
    section: ClassVar[Section] = PAGES
    address: ClassVar[str] = PAGES.address
    columns: ClassVar[tuple[Column, ...]] = (Column("Address", "path"),)
    names: ClassVar[frozenset[str]] = frozenset(
        {"title", "slug", "status", "published_at", "created", "updated"}
    )
    choices: ClassVar[Mapping[str, Container[str]]] = {"status": STATUSES, "sort": SORTS}


async def pages_list(request: AdminRequest) -> Answer:
    picks = [Pick("status", "Status", "Any status", options(STATUSES))]
    return await show_list(request, PageFilters.of(request.query), picks, _cells)


def _cells(page: Record) -> tuple[str, ...]:
    return (f"{PAGES.site_prefix}{page['slug']}",)
