"""The pages of links in emails about comments. A GET shows a button; the POST acts."""

from __future__ import annotations

from masthead.base.caller import system
from masthead.base.errors import BadRequest
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.comments.collection import APPROVED, PENDING, comments
from masthead.features.comments.mail_links import (
    APPROVE_PATH,
    OFF_PATH,
    CommentMailLinks,
    Recipient,
    recipient_in,
)
from masthead.features.members.collection import blog_members
from masthead.features.members.http import BAD_LINK, MakeLinkPage, link_page, mailed_link
from masthead.features.site.address import Site, Sites
from masthead.identity.account_callers import account_caller
from masthead.identity.tenants import superusers
from masthead.web.dispatch import Route
from masthead.web.pages import Page, ShowPage
from masthead.web.policy import WhileSuspended

ACCOUNTS = {each.name: each for each in (blog_members, superusers)}
GONE = words("This comment no longer exists.")


def comment_mail_routes(records: Records, sites: Sites, show: ShowPage) -> list[Route]:
    links = CommentMailLinks(records.keyring)
    return [
        mailed_link(OFF_PATH, sites, _off_page(records, links), show),
        mailed_link(
            APPROVE_PATH,
            sites,
            _approve_page(records, links),
            show,
            while_suspended=WhileSuspended.CLOSED,
        ),
    ]


def _off_page(records: Records, links: CommentMailLinks) -> MakeLinkPage:
    async def make(tenant_id: TenantId, site: Site, query: dict[str, str], is_post: bool) -> Page:
        to = recipient_in(query)
        if not links.is_off(tenant_id, to, query.get("token", "")):
            raise BadRequest(BAD_LINK)
        if not is_post:
            return link_page(
                site,
                "ready",
                words("No more emails about comments?"),
                words(
                    "%(site)s will no longer email you about comments, on any post.",
                    site=site.name,
                ),
                button=words("Turn them off"),
            )
        await _turn_off(records, tenant_id, to)
        return link_page(
            site,
            "off",
            words("Emails about comments are off"),
            words("%(site)s no longer emails you about comments.", site=site.name),
            words("You can turn them on again in your account."),
        )

    return make


async def _turn_off(records: Records, tenant_id: TenantId, to: Recipient) -> None:
    """Done as the service, so that it works while a site is read-only. A deleted account gets the
    same answer."""
    collection = ACCOUNTS[to.collection]
    if await records.find(collection, {"id": to.id}, tenant_id=tenant_id):
        await records.update(system(tenant_id), collection, to.id, {"comment_mails_off": True})


def _approve_page(records: Records, links: CommentMailLinks) -> MakeLinkPage:
    async def make(tenant_id: TenantId, site: Site, query: dict[str, str], is_post: bool) -> Page:
        to, comment_id = recipient_in(query), query.get("comment", "")
        if not links.is_approve(tenant_id, to, comment_id, query.get("token", "")):
            raise BadRequest(BAD_LINK)
        comment = await _comment(records, tenant_id, comment_id)
        if comment["status"] != PENDING:
            return link_page(
                site, "decided", words("Nothing to do"), words("This comment is no longer waiting.")
            )
        if not is_post:
            text = (words("%(name)s wrote:", name=comment["author_name"]), comment["body"])
            return link_page(
                site, "ready", words("Approve this comment?"), *text, button=words("Approve it")
            )
        await _approve(records, tenant_id, to, comment_id)
        return link_page(
            site,
            "approved",
            words("The comment is approved"),
            words("Readers of %(site)s see it now.", site=site.name),
        )

    return make


async def _comment(records: Records, tenant_id: TenantId, comment_id: str) -> Record:
    return await records.require(comments, {"id": comment_id}, tenant_id=tenant_id, missing=GONE)


async def _approve(records: Records, tenant_id: TenantId, to: Recipient, comment_id: str) -> None:
    """As the account that got the email: what it may do now decides."""
    found = await records.find_one(superusers, {"id": to.id}, tenant_id=tenant_id)
    if not found:
        raise BadRequest(BAD_LINK)
    caller = account_caller(superusers, found)
    await records.update(caller, comments, comment_id, {"status": APPROVED})
