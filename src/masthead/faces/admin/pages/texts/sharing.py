"""The share links of a draft: made, listed and ended."""

from __future__ import annotations

from masthead.base import clock
from masthead.base.errors import NotFound
from masthead.base.languages.words import words
from masthead.content.texts.editing import open_text
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.records.filter.conditions import all_of, equals, newer
from masthead.engine.records.read.page import ListRequest
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.texts.reviewing import may_change
from masthead.faces.admin.people import staff_names
from masthead.faces.admin.request import AdminRequest
from masthead.faces.admin.sections import POSTS
from masthead.features.posts.draft_links import ADDRESS, MOST, draft_links, make_link


async def make_share_link(request: AdminRequest, post_id: str) -> Answer:
    """Answered with a page instead of a redirect: the token must not be stored anywhere, neither in
    an address nor in a cookie."""
    await open_text(request.records, request.caller, POSTS.kind, post_id)
    _, token = await make_link(request.records, request.caller, post_id)
    return await share_page(request, post_id, token)


async def end_share_link(request: AdminRequest, post_id: str, link_id: str) -> Answer:
    found = await request.records.find_one(
        draft_links, {"id": link_id, "post_id": post_id}, tenant_id=request.tenant_id
    )
    if found is None:
        raise NotFound
    await request.records.delete(request.caller, draft_links, link_id)
    return Redirect(f"{POSTS.url(post_id)}/share", words("The link has ended."))


async def share_page(request: AdminRequest, post_id: str, token: str = "") -> Answer:
    opened = await open_text(request.records, request.caller, POSTS.kind, post_id)
    wanted = ListRequest(
        per_page=MOST,
        filter=all_of(
            [
                equals("post_id", post_id),
                newer("expires_at", clock.to_text(request.records.clock())),
            ]
        )
        or "",
        sort="-created",
        skip_total=True,
    )
    found = (await request.records.page(request.caller, draft_links, wanted)).items
    names = await staff_names(request)
    values = {
        "own": POSTS.url(post_id),
        "title": opened.values["title"],
        "is_published": opened.text["status"] == PUBLISHED,
        "may_change": may_change(request, opened.text),
        "made": f"{request.site_url}{ADDRESS}{token}" if token else "",
        "links": [
            each | {"by": names.get(each["made_by"], words("A former account"))} for each in found
        ],
    }
    return Page("texts/share.html", words("Share this draft"), values)
