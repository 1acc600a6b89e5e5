"""Tags: how many posts have each, and changes of all of them at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import islice
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from msgspec.structs import replace

from masthead.base.errors import BadRequest, Invalid, NotFound
from masthead.base.languages.alphabet import by_letters
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.filter.conditions import all_of, begins_with, newer
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form, empty_record, sentence_of
from masthead.faces.admin.lists import Filters, Pager
from masthead.faces.admin.pages.texts.posts import MAX_TAGS, PostList
from masthead.faces.admin.request import AdminRequest
from masthead.features.posts.collection import posts
from masthead.features.posts.site import tag_slug
from masthead.features.posts.tag_records import POST_TAGS, tags
from masthead.features.posts.tags import change_tag, changes_under_way, posts_with

ADDRESS = "/admin/tags"
PER_PAGE = 50
MAX_READ = 1_000
"""Tags. Of more, a page reads those that it shows."""
BY_POSTS = "posts"
"""The order with the most used tags first; otherwise they are by name."""
ACTIONS = ("rename", "merge", "remove")
DESCRIBE = "describe"
_ABOUT = Form(
    tags,
    (
        Ask(
            "description",
            words("Description"),
            words("Readers see it above the posts of the tag."),
            rows=3,
        ),
        Ask(
            "picture",
            words("Picture"),
            words("Shown next to the name of the tag."),
            is_picture=True,
        ),
    ),
)

Key = tuple[int, str, str]


class TagFilters(Filters, frozen=True):
    address: ClassVar[str] = ADDRESS
    choices = (("sort", {BY_POSTS}),)

    q: str = ""
    sort: str = ""

    @property
    def is_by_posts(self) -> bool:
        return self.sort == BY_POSTS

    def sorted_by(self, sort: str) -> str:
        return replace(self, sort=sort).url()

    def key(self, tag: str, total: int) -> Key:
        return -total if self.is_by_posts else 0, *by_letters(tag)


async def tags_list(request: AdminRequest) -> Answer:
    filters = TagFilters.of(request.query)
    # Refuses those who may not change tags.
    changes = await changes_under_way(request.records, request.caller)
    totals = await _totals(request, MAX_READ + 1)
    has_all = len(totals) <= MAX_READ
    if has_all:
        found, pager = _page(request, filters, totals)
    else:
        found, pager = await _further_page(request, filters)
    values = {
        "filters": filters,
        "has_all": has_all,
        "rows": [
            {"tag": tag, "url": url_of(tag), "path": _site_path(tag), "total": total}
            for tag, total in found.items()
        ],
        "changing": {name for each in changes for name in (each.tag, each.new_tag)},
        "pager": pager,
        "changes": changes,
        "total": len(totals) if has_all else 0,
        "has_tags": bool(totals or changes),
        "here": request.address,
    }
    return Page("tags/list.html", words("Tags"), values, fragment="tags/_list.html")


async def _totals(
    request: AdminRequest, limit: int, *, begins: str = "", after: str = ""
) -> dict[str, int]:
    """The number of posts of each tag, in the order of their text."""
    conditions = []
    if begins:
        conditions.append(begins_with("name", begins))
    if after:
        conditions.append(newer("name", after))
    records, caller = request.records, request.caller
    names = [
        each["name"]
        for each in await records.first(
            caller,
            tags,
            limit,
            sort="name",
            filter=all_of(conditions) or "",
            names=frozenset({"name"}),
        )
    ]
    totals = await records.counts.of_items(caller, posts, POST_TAGS.name, names)
    return {name: totals.get(name, 0) for name in names}


def _page(
    request: AdminRequest, filters: TagFilters, totals: Mapping[str, int]
) -> tuple[dict[str, int], Pager]:
    """A page of tags, on a site with as many tags as are read at once: in any order, by any part of
    their names."""
    words = filters.q.casefold()
    found = {tag: total for tag, total in totals.items() if words in tag.casefold()}
    keys = sorted(filters.key(tag, total) for tag, total in found.items())
    after, before = (_cursor(filters, request.query.get(name)) for name in ("after", "before"))
    start = bisect_right(keys, after) if after else 0
    if before:
        start = max(bisect_left(keys, before) - PER_PAGE, 0)
    shown = [tag for _, _, tag in keys[start : start + PER_PAGE]]
    if not shown:
        return {}, Pager(0, 0, len(keys))
    end = start + len(shown)
    newer = filters.url(before=_mark(shown[0], found)) if start else ""
    older = filters.url(after=_mark(shown[-1], found)) if end < len(keys) else ""
    return {tag: found[tag] for tag in shown}, Pager(start + 1, end, len(keys), newer, older)


async def _further_page(request: AdminRequest, filters: TagFilters) -> tuple[dict[str, int], Pager]:
    """A page of tags, on a site with more tags than that: in the order of their text, by how they
    begin."""
    _, _, after = request.query.get("after", "").partition("~")
    # PostgreSQL would refuse NUL as a parameter.
    given = {"begins": filters.q.replace("\0", ""), "after": after.replace("\0", "")}
    found = await _totals(request, PER_PAGE + 1, **given)
    shown = dict(islice(found.items(), PER_PAGE))
    older = filters.url(after=_mark(list(shown)[-1], shown)) if len(found) > PER_PAGE else ""
    return shown, Pager(0, 0, -1, filters.url() if after else "", older)


def _mark(tag: str, found: Mapping[str, int]) -> str:
    return f"{found[tag]}~{tag}"


def _cursor(filters: TagFilters, text: str | None) -> Key | None:
    total, mark, tag = (text or "").partition("~")
    is_one = mark and total.isdecimal() and len(total) < 10
    return filters.key(tag, int(total)) if is_one else None


def _site_path(tag: str) -> str:
    return f"/tags/{quote(tag_slug(tag))}"


def url_of(tag: str) -> str:
    # In the query: a tag may hold a slash.
    return f"{ADDRESS}/change?{urlencode({'tag': tag})}"


async def tag_form(request: AdminRequest) -> Answer:
    return await _form(request, request.query.get("tag", ""))


async def change(request: AdminRequest) -> Answer:
    records, caller, form = request.records, request.caller, request.form
    tag, action = form.get("tag", ""), form.get("action", "")
    if action == DESCRIBE:
        return await _describe(request, tag)
    if action not in ACTIONS:
        raise BadRequest(words("Choose what to do with the tag."))
    new_tag = "" if action == "remove" else " ".join(form.get("new_tag", "").split())
    if action != "remove" and not new_tag:
        sentence = words("Type a name.") if action == "rename" else words("Choose a tag.")
        return await _form(request, tag, action, sentence)
    # Refuses those who may not change tags.
    await changes_under_way(records, caller)
    total = await posts_with(records, caller, tag)
    new_total = await posts_with(records, caller, new_tag) if new_tag != tag else 0
    if total and (new_total or action == "remove") and "confirmed" not in form:
        return _question(tag, total, new_tag, new_total)
    try:
        await change_tag(records, caller, tag, new_tag)
    except Invalid as error:
        problem = sentence_of(error.problems.get("new_tag")) or str(error)
        return await _form(request, tag, action, problem, typed=new_tag)
    return Redirect(ADDRESS, _sentence(tag, new_tag, is_merged=bool(new_total)))


def _sentence(tag: str, new_tag: str, *, is_merged: bool) -> str:
    if not new_tag:
        return words("“%(tag)s” is being removed.", tag=tag)
    if is_merged:
        return words("“%(tag)s” is being merged into “%(new_tag)s”.", tag=tag, new_tag=new_tag)
    return words("“%(tag)s” is being renamed to “%(new_tag)s”.", tag=tag, new_tag=new_tag)


async def _form(
    request: AdminRequest, tag: str, action: str = "", problem: str = "", *, typed: str = ""
) -> Answer:
    changes = await changes_under_way(request.records, request.caller)
    progress = next((each for each in changes if each.tag == tag), None)
    total = await posts_with(request.records, request.caller, tag)
    if not total and progress:
        return Redirect(ADDRESS)
    record = await _record(request, tag)
    if not record and not progress:
        raise NotFound
    others = [each for each in await _totals(request, MAX_TAGS + 1) if each != tag]
    values = {
        **_values(tag, total),
        # More of them are no list to choose from: the name is typed.
        "others": sorted(others, key=by_letters) if len(others) < MAX_TAGS else None,
        "new_tag": typed if action == "rename" else tag,
        "into": typed if action == "merge" else "",
        "progress": progress,
        "problem": problem,
        "action": action,
        "fields": _ABOUT.values(request, record or empty_record(tags))["fields"],
    }
    return Page("tags/tag.html", tag, values, status=422 if problem else 200)


async def _record(request: AdminRequest, tag: str) -> Record | None:
    # PostgreSQL would refuse NUL as a parameter.
    wanted = {"name": tag.replace("\0", "")}
    found = await request.records.find_one(tags, wanted, tenant_id=request.tenant_id)
    return found if found and "\0" not in tag else None


async def _describe(request: AdminRequest, tag: str) -> Answer:
    # Refuses those who may not change tags.
    await changes_under_way(request.records, request.caller)
    record = await _record(request, tag)
    if not record:
        raise NotFound
    given = _ABOUT.given(request)
    given["description"] = " ".join(str(given.get("description", "")).split())
    try:
        await request.records.update(request.caller, tags, record["id"], given)
    except Invalid as error:
        request.problems = error.problems
        return await _form(request, tag, DESCRIBE, str(error))
    return Redirect(url_of(tag), words("Saved."))


def _question(tag: str, total: int, new_tag: str, new_total: int) -> Page:
    values = {
        **_values(tag, total),
        "new_tag": new_tag,
        "new_total": new_total,
        "action": "merge" if new_tag else "remove",
    }
    title = (
        words("Merge “%(tag)s” into “%(new_tag)s”?", tag=tag, new_tag=new_tag)
        if new_tag
        else words("Remove “%(tag)s”?", tag=tag)
    )
    return Page("tags/question.html", title, values)


def _values(tag: str, total: int) -> dict[str, Any]:
    return {
        "tag": tag,
        "total": total,
        "posts_url": PostList(tag=tag).url(),
        "site_path": _site_path(tag),
        "own": url_of(tag),
    }
