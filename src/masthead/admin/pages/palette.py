"""What the command palette finds: pages of the admin and posts."""

from __future__ import annotations

from dataclasses import dataclass

from masthead.admin.endpoint import Answer, Page
from masthead.admin.navigation import groups_of
from masthead.admin.pages.texts.lists import status_of
from masthead.admin.request import AdminRequest
from masthead.admin.sections import POSTS
from masthead.posts.collection import posts
from masthead.records.read.page import ListRequest

MOST = 8


@dataclass(frozen=True, slots=True)
class Found:
    label: str
    url: str
    icon: str
    note: str = ""


async def palette(request: AdminRequest) -> Answer:
    words = request.query.get("q", "").strip()[:200]
    found = [*_pages(request, words), *await _posts(request, words)]
    return Page("palette.html", "Search", {"found": found, "q": words}, fragment="palette.html")


def _pages(request: AdminRequest, words: str) -> list[Found]:
    links = (
        [Found("New post", f"{POSTS.address}/new", "plus", "Action")] if _can_write(request) else []
    )
    for group in groups_of(request):
        links += [Found(each.label, each.url, each.icon, "Page") for each in group.links]
    return [each for each in links if words.casefold() in each.label.casefold()]


def _can_write(request: AdminRequest) -> bool:
    return request.site is not None and not request.is_shut_out


async def _posts(request: AdminRequest, words: str) -> list[Found]:
    """By any words of their text; the last one may be unfinished."""
    if not _can_write(request) or not words:
        return []
    wanted = ListRequest(
        per_page=MOST,
        search=f"{words}*" if words[-1].isalnum() else words,
        names=frozenset({"title", "status", "published_at", "scheduled_for"}),
        skip_total=True,
    )
    page = await request.records.page(request.caller, posts, wanted)
    return [
        Found(each["title"], POSTS.url(each["id"]), "file-text", status_of(request, each)[1])
        for each in page.items
    ]
