"""Every page of the admin with what it shows: with content, empty, refused.

A new page needs one line in `SAMPLES`. Where its address names a record, `{posts}` stands for the
id of one in the collection `posts`, and `{posts-draft}` for one in a state; `_content` below makes
them. Tests open every sample in a browser, `make screenshots` takes a picture of each.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyotp
import sqlalchemy as sa
from msgspec.structs import replace
from playwright.async_api import Page, ViewportSize, expect
from tests.browser import Browser
from tests.faces.admin.served import world_at_its_address
from tests.faces.importers.platforms.wordpress.wxr import item, wxr
from tests.features.payments.processor import SECRET, Processor, joined
from tests.features.statistics.site import seed_views
from tests.world import PASSWORD, Account, TenantWorld, World, records_of

from masthead.base import clock, ids
from masthead.base.caller import Caller, Kind, system
from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import JobRunner
from masthead.engine.jobs.tables import jobs, new_job
from masthead.engine.records.collection import file_key
from masthead.faces.admin.pages.account.passkeys import short_id
from masthead.faces.importers import collection as imports
from masthead.faces.importers import jobs as import_jobs
from masthead.faces.importers.member_csv.rows import BAD_EMAIL, BAD_TIER, REPEATED
from masthead.faces.importers.report import Position, Report
from masthead.faces.importers.source import Options
from masthead.faces.importers.tasks.actions import start_task, upload_export
from masthead.faces.importers.write.run_record import NewRun, create_run
from masthead.faces.site_export.collection import (
    EXPIRED,
    FAILED,
    READY,
    RUNNING,
    export_key,
    site_exports,
)
from masthead.faces.site_export.jobs import NO_ROOM
from masthead.features.mailings.tables import mailing_recipients
from masthead.features.password_reset.invitations import INVITATION
from masthead.features.password_reset.resets import ADMIN_PATH
from masthead.features.posts.draft_links import make_link
from masthead.features.posts.tags import change_tag
from masthead.features.privacy.links import EXPORT_LIFETIME
from masthead.features.privacy.validation import DataRequest, Requester
from masthead.features.single_sign_on.collection import sign_in_links, sign_in_providers
from masthead.features.site.mail_trial import TestMails
from masthead.features.webhooks.attempts import SendResult
from masthead.features.webhooks.collection import DEAD, DELIVERED
from masthead.features.webhooks.delivery_log import DeliveryFilter
from masthead.features.webhooks.results import QueueKey, Result
from masthead.features.webhooks.signing import Signed
from masthead.identity.api_keys import create_key
from masthead.identity.limits.plans import Plan
from masthead.identity.one_time_codes import new_totp_secret
from masthead.identity.passkeys import Passkey
from masthead.identity.setup import NewTenant, create_tenant
from masthead.identity.tenants import superusers
from masthead.service.demo.access import demo_access
from masthead.service.demo.seed import OWNER
from masthead.storage.database import EVERY_TENANT
from masthead.web.multipart import Upload

PASSKEY = Passkey("AAAA", "", 0, "demo.localhost", "Phone", "2026-03-01 09:00:00.000Z")
GUARDED = "sefa@example.com"
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnung, in voller Länge"
FOG = (
    "<p>Before the horn there was a bell, and before the bell a boy with a drum, who was paid by"
    " the hour and is said to have kept the log himself.</p><h2>The horn</h2><p>It sounds every two"
    " minutes and is heard in three parishes.</p>"
)

Act = Callable[[Page], Awaitable[None]]
"""Acts on the page before it is checked."""


@dataclass(frozen=True)
class Sample:
    name: str
    """The name of its test and its picture."""
    address: str
    who: str = "owner"
    """`owner`, `editor`, `author`, `contributor`, `operator`, `guest`, or `guarded`, who has a
    second factor."""
    site: str = "demo"
    """`demo` has content, `empty` has none, at `regatta` work goes on, `strict` requires a second
    factor; `` is the service's own host."""
    act: Act | None = None
    language: str = "en-US"
    """The browser's. German words are the longest: a page with lines of fixed width has a sample
    of its own in German."""
    status: int = 200
    is_page: bool = True
    """Not a part of a page, a page of the reader's site, a file, or an answer to a script."""


def fill(*steps: tuple[str, str], press: str) -> Act:
    """Types into fields, by selector, and presses the button of that name."""

    async def act(page: Page) -> None:
        for selector, text in steps:
            await page.fill(selector, text)
        async with page.expect_navigation():
            await page.get_by_role("button", name=press, exact=True).first.click()

    return act


async def press_what_the_page_is_for(page: Page) -> None:
    await page.locator("main .btn-primary").click()
    await expect(page.locator("#problems")).to_be_visible()


async def select_a_row(page: Page) -> None:
    await page.locator("tbody input[type=checkbox]").first.check()


async def select_a_comment(page: Page) -> None:
    await page.locator(".queue > li input[type=checkbox]").first.check()


async def answer_with_a_link(page: Page) -> None:
    await fill(("#body", "https://example.com"), press="Approve and reply")(page)


async def new_key(page: Page) -> None:
    await page.locator("[name='scopes.posts:read']").check()
    await fill(("#name", LONG), press="Create key")(page)


async def upload_broken_drawing(page: Page) -> None:
    drawing = {"name": f"{LONG}.svg", "mimeType": "image/svg+xml", "buffer": b"<svg><broken"}
    await page.locator("#files").set_input_files(drawing)  # type: ignore[arg-type]
    await page.locator(".up-row .bad").wait_for()


async def upload_a_workbook(page: Page) -> None:
    workbook = {"name": f"{LONG}.xlsx", "mimeType": "text/csv", "buffer": b"PK\x03\x04"}
    await page.locator("#file").set_input_files(workbook)  # type: ignore[arg-type]
    await fill(press="Upload")(page)


async def leave_out_addresses(page: Page) -> None:
    await page.get_by_label("E-Mail-Adresse becomes").select_option("")
    await fill(("#label", LONG), press="Check again")(page)


async def upload_no_export(page: Page) -> None:
    words = {"name": f"{LONG}.txt", "mimeType": "text/plain", "buffer": b"Just words."}
    await page.locator("#file").set_input_files(words)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Upload and preview").click()
    await page.locator("[data-sent] .hint-bad").wait_for()


async def choose_picture(page: Page) -> None:
    await page.locator("mh-picture").get_by_role("button", name="Choose…").click()
    await page.locator("dialog [data-picture]").first.wait_for()


async def search(page: Page) -> None:
    await page.keyboard.press("Control+k")
    await page.locator("#palette [role=option]").first.wait_for()


async def show_keys(page: Page) -> None:
    await page.keyboard.press("?")
    await page.locator("#keys").wait_for()


async def wrong_password(page: Page) -> None:
    await fill(("#email", OWNER), ("#password", "not it"), press="Sign in")(page)


async def begin_sign_in(page: Page) -> None:
    await fill(("#email", GUARDED), ("#password", PASSWORD), press="Sign in")(page)


async def scan_app(page: Page) -> None:
    secret = await page.locator("[aria-label=Secret]").inner_text()
    code = pyotp.TOTP(secret.replace(" ", "")).now()
    await fill(("#code", code), press="Add the app")(page)


async def new_webhook(page: Page) -> None:
    await page.locator("[name='events.post.published']").check()
    # An address instead of a name, which would have to be looked up.
    receiver = ("#url", "https://93.184.215.14/hooks/tideline")
    await fill(("#name", LONG), receiver, press="Create webhook")(page)


async def try_a_filter(page: Page) -> None:
    await page.locator("[name='events.*']").check()
    await page.fill("#filter", "event ~ 'post.%' && data.title ~ 'the'")
    await page.get_by_role("button", name="Try it on the last events").click()
    await page.locator("#tried table").wait_for()


async def ask_to_retry(page: Page) -> None:
    async with page.expect_navigation():
        await page.locator(".list-action button").click()


# In the order of their addresses.
SAMPLES = (
    Sample("home", "/admin"),
    Sample("statistics", "/admin/statistics"),
    Sample("statistics-year", "/admin/statistics?days=365", who="editor"),
    Sample("statistics-year-german", "/admin/statistics?days=365", who="editor", language="de-DE"),
    Sample("statistics-empty", "/admin/statistics", site="empty"),
    Sample("post-statistics", "/admin/posts/{posts}/statistics"),
    Sample("home-empty", "/admin", site="empty"),
    Sample("home-author", "/admin", who="author"),
    Sample("suspended", "/admin", site="closed", status=403),
    Sample("suspended-privacy", "/admin/settings/privacy", site="closed"),
    Sample("palette", "/admin", act=search),
    Sample("keyboard", "/admin/posts", act=show_keys),
    Sample("account", "/admin/account"),
    Sample(
        "account-refused",
        "/admin/account",
        act=fill(("#old_password", "not it"), ("#new_password", "x"), press="Change the password"),
    ),
    Sample("account-guarded", "/admin/account", who="guarded"),
    Sample("app", "/admin/account/app"),
    Sample("app-refused", "/admin/account/app", act=fill(("#code", "1"), press="Add the app")),
    Sample("app-added", "/admin/account/app", site="empty", act=scan_app),
    Sample("passkey-new", "/admin/account/passkeys"),
    Sample("passkey-new-german", "/admin/account/passkeys", language="de-DE"),
    Sample("passkey-remove", "/admin/account/passkeys/{passkeys}/remove", who="guarded"),
    Sample("app-remove", "/admin/account/app/remove", who="guarded"),
    Sample(
        "app-remove-refused",
        "/admin/account/app/remove",
        who="guarded",
        act=fill(("#code", "1"), press="Remove the app"),
    ),
    Sample("recovery-codes", "/admin/account/recovery-codes", who="guarded"),
    Sample(
        "recovery-codes-german", "/admin/account/recovery-codes", who="guarded", language="de-DE"
    ),
    Sample("confirm", "/admin/account/confirm", status=403),
    Sample("confirm-guarded", "/admin/account/confirm", who="guarded", status=403),
    Sample("factor-needed", "/admin/posts", site="strict", status=403),
    Sample("activity", "/admin/activity"),
    Sample("activity-empty", "/admin/activity", site="empty"),
    Sample("activity-everywhere", "/admin/operator/activity", who="operator"),
    Sample("comments", "/admin/comments"),
    Sample("comments-empty", "/admin/comments", site="empty"),
    Sample("comments-nothing-found", "/admin/comments?q=zzzz"),
    Sample("comments-all", "/admin/comments?status=all"),
    Sample("comments-selected", "/admin/comments", act=select_a_comment),
    Sample("comments-editor", "/admin/comments", who="editor"),
    Sample("comments-author", "/admin/comments", who="author", status=403),
    Sample("comment", "/admin/comments/{comments}"),
    Sample("comment-refused", "/admin/comments/{comments}", act=answer_with_a_link),
    Sample("comment-delete", "/admin/comments", act=fill(press="Delete")),
    Sample("activity-nothing-found", "/admin/activity?subject=redirects"),
    Sample("components", "/admin/components", who="operator"),
    Sample("forgot", "/admin/forgot", who="guest"),
    Sample(
        "forgot-refused",
        "/admin/forgot",
        who="guest",
        act=fill(("#email", f"{'n' * 250}@example.com"), press="Send me a link"),
    ),
    Sample(
        "forgot-sent",
        "/admin/forgot",
        who="guest",
        act=fill(("#email", "nell@example.com"), press="Send me a link"),
    ),
    Sample("form-token", "/admin/form-token", is_page=False),
    Sample("live-of-nothing", "/admin/live", status=400, is_page=False),
    Sample("trash", "/admin/trash"),
    Sample("trash-empty", "/admin/trash", site="empty"),
    Sample("trash-nothing-found", "/admin/trash?type=pages"),
    Sample("trash-author", "/admin/trash", who="author"),
    Sample("trash-delete", "/admin/trash/{trash}/delete"),
    Sample("trash-empty-it", "/admin/trash/empty"),
    Sample("media", "/admin/media"),
    Sample("media-empty", "/admin/media", site="empty"),
    Sample("media-nothing-found", "/admin/media?q=zzzz"),
    Sample("media-list", "/admin/media?view=list"),
    Sample("media-beside", "/admin/media?item={media}"),
    Sample("media-author", "/admin/media?item={media}", who="author"),
    Sample("media-refused", "/admin/media", act=upload_broken_drawing),
    Sample("media-refused-german", "/admin/media", act=upload_broken_drawing, language="de-DE"),
    Sample("media-choose", "/admin/posts/{posts-html}", act=choose_picture),
    Sample("media-choices-part", "/admin/media/choose", is_page=False),
    Sample("media-item", "/admin/media/{media}"),
    Sample("media-item-file", "/admin/media/{media-file}"),
    Sample("media-item-delete", "/admin/media/{media}/delete"),
    Sample("members", "/admin/members"),
    Sample("members-empty", "/admin/members", site="empty"),
    Sample("members-nothing-found", "/admin/members?q=zzzz"),
    Sample("members-selected", "/admin/members", act=select_a_row),
    Sample("members-editor", "/admin/members", who="editor"),
    Sample("members-csv", "/admin/members/members.csv", is_page=False),
    Sample("member-new", "/admin/members/new"),
    Sample("member-new-german", "/admin/members/new", language="de-DE"),
    Sample(
        "member-new-refused",
        "/admin/members/new",
        act=fill(("#email", "ana@example"), press="Add the member"),
    ),
    Sample("members-import", "/admin/members/import"),
    Sample("members-import-empty", "/admin/members/import", site="empty"),
    Sample("members-import-refused", "/admin/members/import", act=upload_a_workbook),
    Sample("members-import-columns", "/admin/members/import/{member_imports}"),
    Sample(
        "members-import-columns-refused",
        "/admin/members/import/{member_imports}",
        act=leave_out_addresses,
    ),
    Sample("members-import-running", "/admin/members/import/{member_imports-running}"),
    Sample("members-import-report", "/admin/members/import/{member_imports-done}"),
    Sample("members-import-failed", "/admin/members/import/{member_imports-failed}"),
    Sample(
        "members-import-errors",
        "/admin/members/import/{member_imports-done}/errors.csv",
        is_page=False,
    ),
    Sample("member", "/admin/members/{blog_members}"),
    Sample("member-editor", "/admin/members/{blog_members}", who="editor"),
    Sample("member-access", "/admin/members/{blog_members}/access"),
    Sample("member-erase", "/admin/members/{blog_members}/erase"),
    Sample(
        "member-erase-refused",
        "/admin/members/{blog_members}/erase",
        act=fill(("#email", "someone@else.example"), press="Erase this member"),
    ),
    Sample(
        "member-export",
        "/admin/members/{blog_members}/requests/{gdpr_requests}/download",
        is_page=False,
    ),
    Sample("more", "/admin/more"),
    Sample("not-found", "/admin/no-such-page", status=404),
    Sample("not-for-editors", "/admin/settings", who="editor", status=403),
    Sample("not-for-owners", "/admin/tenants", status=403),
    Sample("errors", "/admin/operator/errors", who="operator"),
    Sample("errors-nothing-found", "/admin/operator/errors?id=nosuchrequest00", who="operator"),
    Sample("error", "/admin/operator/errors/{error}", who="operator"),
    Sample("queue", "/admin/operator/queue", who="operator"),
    Sample("pages", "/admin/pages"),
    Sample("pages-empty", "/admin/pages", site="empty"),
    Sample("pages-nothing-found", "/admin/pages?q=zzzz"),
    Sample("pages-selected", "/admin/pages", act=select_a_row),
    Sample("page-new", "/admin/pages/new"),
    Sample("page", "/admin/pages/{pages}"),
    Sample("page-html", "/admin/pages/{pages}?as=html"),
    Sample("page-delete", "/admin/pages/{pages}/delete"),
    Sample("mailings", "/admin/mailings"),
    Sample("mailings-empty", "/admin/mailings", site="empty"),
    Sample("mailing", "/admin/mailings/{mailings}"),
    Sample("mailing-german", "/admin/mailings/{mailings}", language="de-DE"),
    Sample("mailing-sending", "/admin/mailings/{mailings-sending}"),
    Sample("mailing-again", "/admin/mailings/{mailings}/again"),
    Sample("mailing-cancel", "/admin/mailings/{mailings}/cancel"),
    Sample("recipients", "/admin/mailings/{mailings}/recipients"),
    Sample("recipients-refused", "/admin/mailings/{mailings}/recipients?state=failed"),
    Sample("recipients-nothing-found", "/admin/mailings/{mailings}/recipients?q=zzzz"),
    Sample("stopped", "/admin/members/stopped"),
    Sample("stopped-nothing-found", "/admin/members/stopped?kind=complained&q=zzzz"),
    Sample("stopped-editor", "/admin/members/stopped", who="editor"),
    Sample("stopped-lift", "/admin/members/{members-stopped}/mail-again"),
    Sample("member-stopped", "/admin/members/{members-stopped}"),
    Sample("post-mail-later", "/admin/posts/{posts-html}/mail?when=later"),
    Sample(
        "post-mail-refused",
        "/admin/posts/{posts-html}/mail?when=later&send_at=2001-01-01T09:00",
        act=press_what_the_page_is_for,
    ),
    Sample("post-mail", "/admin/posts/{posts-html}/mail"),
    Sample("post-mail-draft", "/admin/posts/{posts-draft}/mail"),
    Sample("newsletters", "/admin/settings/newsletters"),
    Sample("newsletter", "/admin/settings/newsletters/{newsletters}"),
    Sample("digest", "/admin/settings/newsletters/{newsletters}/digest"),
    Sample("digest-email", "/admin/settings/newsletters/{newsletters}/digest/email", is_page=False),
    Sample("newsletter-delete", "/admin/settings/newsletters/{newsletters}/delete"),
    Sample(
        "newsletter-refused",
        "/admin/settings/newsletters/new",
        act=fill(("#reply_to", "nobody"), press="Create"),
    ),
    Sample("welcome", "/admin/settings/welcome"),
    Sample("welcome-paid", "/admin/settings/welcome/paid"),
    Sample("welcome-email", "/admin/settings/welcome/paid/email", is_page=False),
    Sample(
        "welcome-refused",
        "/admin/settings/welcome/free",
        act=fill(("#subject", ""), ("#text", ""), press="Save"),
    ),
    Sample("page-preview", "/admin/pages/{pages}/preview"),
    Sample("page-publish", "/admin/pages/{pages}/publish"),
    Sample("page-preview-page", "/admin/pages/{pages}/preview/page", is_page=False),
    Sample("page-revisions", "/admin/pages/{pages}/revisions"),
    Sample("page-revision", "/admin/pages/{pages}/revisions/{page_revisions}"),
    Sample("palette-part", "/admin/palette?q=fog", is_page=False),
    Sample("posts", "/admin/posts"),
    Sample("posts-empty", "/admin/posts", site="empty"),
    Sample("posts-nothing-found", "/admin/posts?q=zzzz"),
    Sample("posts-tags-part", "/admin/posts/tags?tag=h", is_page=False),
    Sample("posts-selected", "/admin/posts", act=select_a_row),
    Sample("posts-author", "/admin/posts", who="author"),
    Sample("posts-ready", "/admin/posts?status=ready"),
    Sample("posts-contributor", "/admin/posts", who="contributor"),
    Sample("snippets", "/admin/snippets"),
    Sample("snippets-empty", "/admin/snippets", site="empty"),
    Sample("snippets-author", "/admin/snippets", who="author"),
    Sample("snippets-found", "/admin/snippets/found?q=sub", is_page=False),
    Sample("snippets-document", "/admin/snippets/document?id={snippets}", is_page=False),
    Sample("links-found", "/admin/links?q=sub", is_page=False),
    Sample("snippet", "/admin/snippets/{snippets}"),
    Sample("snippet-new", "/admin/snippets/new"),
    Sample("post-new", "/admin/posts/new"),
    Sample("post", "/admin/posts/{posts}"),
    Sample("post-html", "/admin/posts/{posts-html}"),
    Sample(
        "post-refused",
        "/admin/posts/{posts-html}",
        act=fill(("#slug", "not a slug"), press="Update…"),
    ),
    Sample("post-ready", "/admin/posts/{posts-ready}"),
    Sample("post-ready-html", "/admin/posts/{posts-ready}?as=html"),
    Sample("post-share", "/admin/posts/{posts-ready}/share"),
    Sample("post-share-made", "/admin/posts/{posts-ready}/share", act=fill(press="Make a link")),
    Sample("post-send-back", "/admin/posts/{posts-ready}/send-back"),
    Sample(
        "post-send-back-refused",
        "/admin/posts/{posts-ready}/send-back",
        act=fill(("#review_note", " "), press="Send back"),
    ),
    Sample("post-sent-back", "/admin/posts/{posts-sent-back}", who="contributor"),
    Sample("post-new-contributor", "/admin/posts/new", who="contributor"),
    Sample("post-read", "/admin/posts/{posts-contributed}", who="contributor"),
    Sample("post-delete", "/admin/posts/{posts}/delete"),
    Sample("post-preview", "/admin/posts/{posts}/preview?as=paid"),
    Sample("post-publish", "/admin/posts/{posts-draft}/publish"),
    Sample("post-publish-mail", "/admin/posts/{posts-draft}/publish?to=both"),
    Sample("post-publish-mail-nobody", "/admin/posts/{posts-draft}/publish?to=both&labels=none"),
    Sample("post-publish-later", "/admin/posts/{posts-draft}/publish?what=schedule"),
    Sample("post-published", "/admin/posts/{posts}/publish"),
    Sample("post-email", "/admin/posts/{posts}/email?as=free&width=375&colours=dark"),
    Sample("post-email-page", "/admin/posts/{posts}/email/page?as=paid", is_page=False),
    Sample("post-preview-page", "/admin/posts/{posts}/preview/page?as=guest", is_page=False),
    Sample("post-revisions", "/admin/posts/{posts-revised}/revisions"),
    Sample("post-revisions-chosen", "/admin/posts/{posts-revised}/revisions?from={post_revisions}"),
    Sample("post-revisions-empty", "/admin/posts/{posts-html}/revisions"),
    Sample("post-revision", "/admin/posts/{posts-revised}/revisions/{post_revisions}"),
    Sample(
        "post-revision-other",
        "/admin/posts/{posts-revised}/revisions/{post_revisions}?with={post_revisions-other}",
    ),
    Sample("post-missing", "/admin/posts/nosuchpost00000", status=404),
    Sample("reset-password", f"{ADMIN_PATH}?token={{token}}", who="guest"),
    Sample(
        "reset-password-refused",
        f"{ADMIN_PATH}?token={{token}}",
        who="guest",
        act=fill(
            ("#password", "long enough"), ("#passwordConfirm", "another"), press="Set the password"
        ),
    ),
    Sample("reset-password-dead", f"{ADMIN_PATH}?token=x", who="guest", status=400),
    Sample("settings", "/admin/settings"),
    Sample(
        "settings-refused",
        "/admin/settings",
        act=fill(("#site_name", ""), press="Save"),
    ),
    Sample("design", "/admin/settings/design"),
    Sample(
        "design-refused",
        "/admin/settings/design",
        act=fill(("#accent_color", "red"), ("#announcement_url", "no"), press="Save"),
    ),
    Sample("design-code", "/admin/settings/design/code"),
    Sample("design-preview", "/admin/settings/design/preview", is_page=False),
    Sample("settings-accent-part", "/admin/settings/design/accent", is_page=False),
    Sample("ai", "/admin/settings/ai"),
    Sample("ai-refused", "/admin/settings/ai", act=fill(("#ai_base_url", "no"), press="Save")),
    Sample("providers", "/admin/settings/sign-in"),
    Sample("providers-empty", "/admin/settings/sign-in", site="empty"),
    Sample("provider-new", "/admin/settings/sign-in/new"),
    Sample("provider-refused", "/admin/settings/sign-in/new", act=fill(press="Add it")),
    Sample("provider", "/admin/settings/sign-in/{sign_in_providers}"),
    Sample("provider-remove", "/admin/settings/sign-in/{sign_in_providers}/remove"),
    Sample("sign-in-elsewhere", "/admin/sign-in/with/newsroom", who="guest", status=422),
    Sample("sign-in-stale", "/admin/sign-in/with/newsroom/callback", who="guest", status=422),
    Sample("connect-elsewhere", "/admin/account/connect/newsroom"),
    Sample("domain", "/admin/settings/domain"),
    Sample("domain-served", "/admin/settings/domain", site="empty"),
    Sample(
        "domain-refused",
        "/admin/settings/domain",
        act=fill(("#wanted_domain", "not a domain"), press="Request it"),
    ),
    Sample("domain-address-part", "/admin/settings/domain/address", is_page=False),
    Sample("domain-remove", "/admin/settings/domain/remove", site="empty"),
    Sample("keys", "/admin/settings/keys"),
    Sample("keys-empty", "/admin/settings/keys", site="empty"),
    Sample("key-made", "/admin/settings/keys", act=new_key),
    Sample("key-refused", "/admin/settings/keys", act=fill(press="Create key")),
    Sample("key-revoke", "/admin/settings/keys/{api_keys}/revoke"),
    Sample("mail", "/admin/settings/mail"),
    Sample("mail-test", "/admin/settings/mail?test={test-mail}"),
    Sample("mail-test-unknown", "/admin/settings/mail?test=x"),
    Sample("mail-test-part", "/admin/settings/mail/test/{test-mail}", is_page=False),
    Sample("sending", "/admin/settings/sending"),
    Sample("sending-own", "/admin/settings/sending", site="empty"),
    Sample("sending-new-key", "/admin/settings/sending/new-key", site="empty"),
    Sample("sending-installation", "/admin/operator/sending", who="operator"),
    Sample("payments", "/admin/settings/payments"),
    Sample("payments-empty", "/admin/settings/payments", site="empty"),
    Sample("privacy", "/admin/settings/privacy"),
    Sample("privacy-empty", "/admin/settings/privacy", site="empty"),
    Sample("privacy-delete", "/admin/settings/privacy/delete"),
    Sample(
        "privacy-delete-refused",
        "/admin/settings/privacy/delete",
        act=fill(("#tenant_slug", "x"), press="Delete the site"),
    ),
    Sample("privacy-copy", "/admin/settings/privacy/{copy}/download", is_page=False),
    Sample("gift-cards", "/admin/shop/gift-cards"),
    Sample("gift-cards-empty", "/admin/shop/gift-cards", site="empty"),
    Sample("gift-cards-nothing-found", "/admin/shop/gift-cards?email=zzzz"),
    Sample("gift-card", "/admin/shop/gift-cards/{gift_cards}"),
    Sample("gift-membership", "/admin/shop/gift-cards/{gift_memberships}"),
    Sample("tiers", "/admin/shop/tiers"),
    Sample("tiers-empty", "/admin/shop/tiers", site="empty"),
    Sample("tier-new", "/admin/shop/tiers/new"),
    Sample("tier-refused", "/admin/shop/tiers/new", act=fill(press="Create")),
    Sample("tier", "/admin/shop/tiers/{tiers}"),
    Sample("offers", "/admin/shop/offers"),
    Sample("offers-empty", "/admin/shop/offers", site="empty"),
    Sample("offer-new", "/admin/shop/offers/new"),
    Sample(
        "offer-refused",
        "/admin/shop/offers/new",
        act=fill(("#code", "half price"), press="Create"),
    ),
    Sample("offer", "/admin/shop/offers/{offers}"),
    Sample("orders", "/admin/shop/orders"),
    Sample("orders-empty", "/admin/shop/orders", site="empty"),
    Sample("orders-nothing-found", "/admin/shop/orders?email=zzzz"),
    Sample("order", "/admin/shop/orders/{orders}"),
    Sample("products", "/admin/shop/products"),
    Sample("products-empty", "/admin/shop/products", site="empty"),
    Sample("product-new", "/admin/shop/products/new"),
    Sample("product", "/admin/shop/products/{products}"),
    Sample("sign-in", "/admin/sign-in", who="guest"),
    Sample("sign-in-code", "/admin/sign-in", who="guest", act=begin_sign_in),
    Sample("sign-in-code-ended", "/admin/sign-in/code", who="guest", status=303, is_page=False),
    Sample("sign-in-refused", "/admin/sign-in", who="guest", act=wrong_password),
    Sample("staff", "/admin/staff"),
    Sample(
        "staff-refused",
        "/admin/staff",
        act=fill(("#email", OWNER), press="Send the invitation"),
    ),
    Sample("person", "/admin/staff/{_superusers}"),
    Sample("person-invited", "/admin/staff/{_superusers-invited}"),
    Sample("tags", "/admin/tags"),
    Sample("tags-empty", "/admin/tags", site="empty"),
    Sample("tags-nothing-found", "/admin/tags?q=zzzz"),
    Sample("tag", "/admin/tags/change?tag=harbour"),
    Sample("tag-changing", "/admin/tags/change?tag=tides"),
    Sample(
        "tag-refused",
        "/admin/tags/change?tag=harbour",
        act=fill(("#new_tag", "one, two"), press="Rename"),
    ),
    Sample(
        "tag-merge",
        "/admin/tags/change?tag=harbour",
        act=fill(("#new_tag", "tides"), press="Rename"),
    ),
    Sample("tag-remove", "/admin/tags/change?tag=harbour", act=fill(press="Remove…")),
    Sample("tenants", "/admin/tenants", who="operator"),
    Sample("tenants-nowhere", "/admin/tenants", who="operator", site=""),
    Sample("tenants-nothing-found", "/admin/tenants?q=zzzz", who="operator"),
    Sample("tenant-new", "/admin/tenants/new", who="operator", site=""),
    Sample("tenant-import", "/admin/tenants/import", who="operator", site=""),
    Sample(
        "tenant-new-refused",
        "/admin/tenants/new",
        who="operator",
        act=fill(("#name", LONG), ("#slug", "demo"), press="Create the site"),
    ),
    Sample("tenant", "/admin/tenants/{tenants}", who="operator"),
    Sample("tenant-invited", "/admin/tenants/{tenants-invited}", who="operator", site=""),
    Sample("tenant-suspended", "/admin/tenants/{tenants-suspended}", who="operator", site=""),
    Sample("tenant-being-deleted", "/admin/tenants/{tenants-deleted}", who="operator", site=""),
    Sample("tenant-suspend", "/admin/tenants/{tenants}/suspend", who="operator"),
    Sample(
        "tenant-suspend-refused",
        "/admin/tenants/{tenants}/suspend",
        who="operator",
        act=fill(press="Suspend the site"),
    ),
    Sample("tenant-delete", "/admin/tenants/{tenants}/delete", who="operator"),
    Sample(
        "tenant-delete-refused",
        "/admin/tenants/{tenants}/delete",
        who="operator",
        act=fill(press="Delete the site"),
    ),
    Sample("imports", "/admin/tools/import"),
    Sample("imports-empty", "/admin/tools/import", site="empty"),
    Sample("exports", "/admin/tools/export"),
    Sample("exports-empty", "/admin/tools/export", site="empty"),
    Sample("exports-running", "/admin/tools/export", who="operator", site="regatta"),
    Sample("export-download", "/admin/tools/export/{site_exports}/download", is_page=False),
    Sample("import-new", "/admin/tools/import/new"),
    Sample("import-new-refused", "/admin/tools/import/new", act=upload_no_export),
    Sample("import-preview", "/admin/tools/import/{imports-preview}"),
    Sample("import-preview-sample", "/admin/tools/import/{imports-preview}?sample=2"),
    Sample("import-sample", "/admin/tools/import/{imports-preview}/samples/0", is_page=False),
    Sample("import-waiting", "/admin/tools/import/{imports-waiting}"),
    Sample("import-running", "/admin/tools/import/{imports-running}"),
    Sample("import-report", "/admin/tools/import/{imports-done}"),
    Sample("import-undo", "/admin/tools/import/{imports-done}/undo"),
    Sample("import-undone", "/admin/tools/import/{imports-undone}"),
    Sample("import-failed", "/admin/tools/import/{imports-failed}"),
    Sample("import-redirects", "/admin/tools/import/{imports-done}/redirects.csv", is_page=False),
    Sample("import-errors", "/admin/tools/import/{imports-done}/import-errors.json", is_page=False),
    Sample("webhooks", "/admin/webhooks"),
    Sample("webhooks-empty", "/admin/webhooks", site="empty"),
    Sample("webhooks-nothing-found", "/admin/webhooks?state=dropped&event=order.paid"),
    Sample("webhooks-selected", "/admin/webhooks?state=dead", act=select_a_row),
    Sample("webhooks-retry-all", "/admin/webhooks", act=ask_to_retry),
    Sample("webhook-new", "/admin/webhooks/new"),
    Sample("webhook-made", "/admin/webhooks/new", act=new_webhook),
    Sample("webhook-refused", "/admin/webhooks/new", act=fill(press="Create webhook")),
    Sample("webhook", "/admin/webhooks/{webhook_subscriptions}"),
    Sample("webhook-off", "/admin/webhooks/{webhook_subscriptions-off}"),
    Sample("webhook-tried", "/admin/webhooks/{webhook_subscriptions}", act=try_a_filter),
    Sample("webhook-replay", "/admin/webhooks/{webhook_subscriptions}/replay"),
    Sample(
        "webhook-replay-counted",
        "/admin/webhooks/{webhook_subscriptions}/replay",
        act=fill(press="Count them"),
    ),
    Sample("webhook-delete", "/admin/webhooks/{webhook_subscriptions}/delete"),
    Sample("delivery", "/admin/webhooks/deliveries/{webhook_deliveries}"),
    Sample("delivery-waiting", "/admin/webhooks/deliveries/{webhook_deliveries-pending}"),
    Sample("webhook-retry", "/admin/webhooks/retries/{webhook_retries}"),
)


_OWN_OWNERS = ("empty", "closed", "strict")


@dataclass(frozen=True)
class EveryPage:
    """The service with the content that the samples show."""

    world: World
    origins: dict[str, str]
    """The origins of the sites, by the site of a sample."""
    tenants: dict[str, TenantWorld]
    accounts: dict[str, Account]
    """The accounts, by the role that opens the page."""
    names: dict[str, str]
    """The values of the names in addresses."""

    def url(self, sample: Sample) -> str:
        return self.origins[sample.site] + sample.address.format_map(self.names)

    def account(self, sample: Sample) -> Account | None:
        """Who looks at the sample: at the empty site its own owner."""
        if sample.who == "guest":
            return None
        return self.accounts[sample.site if sample.site in _OWN_OWNERS else sample.who]


FRAME = ("header.side", "nav.bottom")


@dataclass
class Windows:
    """One page for each account, site and language, so that a sample costs no window of its own."""

    pages: EveryPage
    browser: Browser
    open: dict[tuple[str, str, str], Page] = field(default_factory=dict)
    size: ViewportSize = field(default_factory=lambda: {"width": 1280, "height": 800})
    framed: set[tuple[str, str]] = field(default_factory=set)
    """The accounts and sites whose frame was looked at."""

    async def at(self, sample: Sample) -> Page:
        """The page that shows the sample."""
        key = (sample.who, sample.site, sample.language)
        if key not in self.open:
            self.open[key] = await self._opened(sample)
        page = self.open[key]
        await page.set_viewport_size(self.size)
        answer = await page.goto(self.pages.url(sample))
        assert answer is not None
        assert answer.status == sample.status
        await expect(
            page.locator(":is(mh-editor, mh-form-editor):not([data-ready])")
        ).to_have_count(0)
        if sample.act:
            await sample.act(page)
        return page

    async def known_parts(self, page: Page, sample: Sample) -> tuple[str, ...]:
        """The frame is the same on every page of an account: it is looked at in the first one."""
        key = (sample.who, sample.site)
        if key in self.framed:
            return FRAME
        if await page.locator(FRAME[0]).count():
            self.framed.add(key)
        return ()

    async def _opened(self, sample: Sample) -> Page:
        # Without motion, a colour is what it is as soon as the theme changes.
        context = await self.browser.new_context(reduced_motion="reduce", locale=sample.language)
        account = self.pages.account(sample)
        if account:
            origin = self.pages.origins[sample.site]
            await context.add_cookies([{"name": "pb_auth", "value": account.token, "url": origin}])
        return await context.new_page()


@asynccontextmanager
async def every_page(folder: Path) -> AsyncIterator[EveryPage]:
    async with world_at_its_address(folder) as (world, port):
        yield await _filled(world, port)


async def _filled(world: World, port: int) -> EveryPage:
    await demo_access(world.parts)
    [found] = await world.parts.records.find(world.collection("tenants"), {"slug": "demo"})
    demo = TenantWorld(world, TenantId(found["id"]), "demo")
    empty = await world.new_tenant("Nothing yet", slug="empty")
    await empty.settings(custom_domain="nothing.example")
    await world.parts.signing_keys.make(system(empty.id), "nothing.example")
    closed = await world.new_tenant("The Ferryman", slug="closed")
    strict = await world.new_tenant("The Customs House", slug="strict")
    await strict.settings(require_second_factor=True)
    accounts = {
        "owner": await _owner(demo),
        "editor": await demo.owner(name="Ines Ferro", role="editor"),
        "author": await demo.owner(name="Marguerite Oyelaran-Whitcombe", role="author"),
        "contributor": await demo.owner(name="Tobias Lindqvist", role="contributor"),
        "operator": await world.operator(name="Theo Vance"),
        "guarded": await _guarded(demo),
        "empty": await empty.owner(name="Nell Ashby"),
        "closed": await closed.owner(name="Nell Ashby"),
        "strict": await strict.owner(name="Nell Ashby"),
    }
    return EveryPage(
        world,
        {"": f"http://localhost:{port}"}
        | {
            slug: f"http://{slug}.localhost:{port}"
            for slug in ("demo", "empty", "closed", "strict", "regatta")
        },
        {"demo": demo, "empty": empty, "closed": closed, "strict": strict},
        accounts,
        await _content(demo, accounts),
    )


async def _owner(demo: TenantWorld) -> Account:
    records = demo.world.parts.records
    [account] = await records.find(superusers, {"email": OWNER}, tenant_id=demo.id)
    account = await demo.update("_superusers", account["id"], {"name": "Nell Ashby"})
    return await demo.world.signed_in(superusers, account, demo.host)


async def _guarded(demo: TenantWorld) -> Account:
    parts = demo.world.parts
    account = await demo.owner(name="Sefa Brandt", role="editor", email=GUARDED)
    [record] = await parts.records.find(superusers, {"id": account.id}, tenant_id=demo.id)
    await parts.factors.add_app(system(demo.id), record, new_totp_secret(), 1)
    await parts.factors.add_passkey(system(demo.id), record, PASSKEY)
    return account


async def _content(demo: TenantWorld, accounts: dict[str, Account]) -> dict[str, str]:
    """Adds what the demo magazine lacks: many rows, long words, states. Returns the names of
    records in addresses."""
    return {
        **await _imports(demo, accounts),
        **await _keys(demo),
        **await _providers(demo, accounts),
        **await _members(demo),
        **await _member_imports(demo),
        **await _operated(demo, accounts),
        **await _media(demo, accounts),
        **await _pages(demo),
        **await _settings(demo, accounts["owner"]),
        **await _posts(demo, accounts),
        **await _reviews(demo, accounts),
        **await _views(demo),
        **await _shop(demo),
        **await _staff(demo, accounts),
        **await _webhooks(demo),
        **await _tags(demo),
        **await _exports(demo),
        "passkeys": short_id(PASSKEY),
        **await _trash(demo, accounts),
    }


async def _views(demo: TenantWorld) -> dict[str, str]:
    """Some posts are read on each of the last 40 days."""
    found = await demo.world.parts.records.find(
        demo.world.collection("posts"), {"status": "published"}, tenant_id=demo.id, limit=6
    )
    await seed_views(demo, [each["id"] for each in found], days=40)
    return {}


async def _trash(demo: TenantWorld, accounts: dict[str, Account]) -> dict[str, str]:
    """Deleted by people and by a key, with a title of one long word."""
    records, posts = demo.world.parts.records, demo.world.collection("posts")
    author = accounts["author"]
    titles = ("Low tide at the old harbour", "Donaudampfschifffahrtsgesellschaftskapitän", "Fog")
    for title in titles:
        post = await demo.post(title=title, authors=[author.id])
        owner = Caller(Kind.OWNER, demo.id, accounts["owner"].id, collection=superusers.name)
        await records.delete(system(demo.id) if title == "Fog" else owner, posts, post["id"])
    return {"trash": post["id"]}


async def _exports(demo: TenantWorld) -> dict[str, str]:
    """One that can be downloaded, others that can not, and one that is being made elsewhere."""
    parts, names = demo.world.parts, {}
    now = parts.records.clock()
    report = {"posts": 312, "pages": 4, "members": 1_204, "media": 655, "missing_files": 2}
    ended = {
        "finished_at": clock.to_text(now),
        "expires_at": clock.to_text(now + EXPORT_LIFETIME),
        "report": report,
        "bytes": 412_345_678,
    }
    made = (
        {"format": "csv", "state": FAILED, "error": NO_ROOM, **ended, "report": {}, "bytes": 0},
        {"format": "html", "state": EXPIRED, **ended},
        {"format": "ghost", "state": READY, **ended},
    )
    async with parts.records.unit(system(demo.id)) as unit:
        for stamped in made:
            export = await unit.create(site_exports, {}, stamped=stamped)
            names["site_exports"] = export["id"]
    await parts.objects.put(export_key(export), b"A small archive.")
    [regatta] = await parts.records.find(demo.world.collection("tenants"), {"slug": "regatta"})
    running = {"format": "ghost", "state": RUNNING, "done": 1_240, "total": 2_175}
    async with parts.records.unit(system(TenantId(regatta["id"]))) as unit:
        await unit.create(site_exports, {}, stamped=running)
    return names


async def _imports(demo: TenantWorld, accounts: dict[str, Account]) -> dict[str, str]:
    """One in each state, made by the worker; of running ones the record alone."""
    parts = demo.world.parts
    owner = await parts.accounts.sessions.caller_of(accounts["owner"].token)
    assert owner
    made: dict[str, str] = {}

    async def work() -> None:
        runner = JobRunner(parts.database, import_jobs.handlers(parts), parts.records.clock)
        while await runner.run_due():
            pass

    async def upload(name: str, content: str, file_name: str) -> str:
        file = Upload("file", file_name, "")
        await file.fill(_once(content.encode()))
        options = Options(include_authors=True)
        made[name] = (await upload_export(parts, owner, file, "", options=options))["id"]
        await work()
        return made[name]

    await upload("imports-failed", "<?xml version='1.0'?><!DOCTYPE x><rss></rss>", "broken.xml")
    for name in ("imports-done", "imports-undone"):
        run_id = await upload(name, _export(name), f"{name}.xml")
        await start_task(parts.records, owner, run_id, imports.IMPORT)
        await work()
    await start_task(parts.records, owner, made["imports-undone"], imports.UNDO)
    await work()
    await upload("imports-preview", _export("preview", 12), f"{LONG}.wordpress.2026-11-14.xml")
    for state in (imports.QUEUED, imports.RUNNING):
        report = Report("ghost", done=Position(140), expected=Position(212))
        async with parts.records.unit(system(demo.id)) as unit:
            run = await create_run(unit, NewRun("ghost", "export.zip", file_size=18_400_000))
            stamped = {
                "state": state,
                "report": report.stored() if state == imports.RUNNING else None,
            }
            await unit.update(imports.import_runs, run["id"], {}, stamped=stamped)
        made["imports-running" if state == imports.RUNNING else "imports-waiting"] = run["id"]
    return made


def _export(name: str, posts: int = 3) -> str:
    """Posts with a picture that can't be fetched, pages, and what is left out."""
    items = [
        item(FOG, post_id=each, title=f"{LONG} {each}", post_name=f"{name}-{each}", link="")
        for each in range(posts)
    ]
    skipped = item(post_id=98, title="Tomorrow", status="future", link="")
    page = item(FOG, post_id=99, title="Imprint of old", post_type="page", link="")
    html = f'{FOG}<p><img src="http://127.0.0.1:9/{name}.png"></p>'
    moved = item(html, post_id=97, title="Moved", post_name=f"{name}-moved", link=f"/{name}/old/")
    return wxr(*items, moved, skipped, page).replace("old.example.com", f"{name}.example.com")


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _keys(demo: TenantWorld) -> dict[str, str]:
    records = demo.world.parts.records
    key, _ = await create_key(records, demo.id, "Nightly export of everything", ["posts:read"])
    return {"api_keys": key["id"]}


async def _providers(demo: TenantWorld, accounts: dict[str, Account]) -> dict[str, str]:
    """One that the owner has connected. Nobody answers at its address."""
    values = {"name": "Newsroom", "issuer": "https://127.0.0.1:9", "client_id": "tideline"}
    async with demo.world.parts.records.unit(system(demo.id)) as unit:
        provider = await unit.create(sign_in_providers, values)
        link = {"provider_id": provider["id"], "staff_id": accounts["owner"].id, "subject": "nell"}
        await unit.create(sign_in_links, {}, stamped=link)
    return {"sign_in_providers": provider["id"]}


async def _operated(demo: TenantWorld, accounts: dict[str, Account]) -> dict[str, str]:
    """Adds what operators manage, and returns the names of records in addresses."""
    parts = demo.world.parts
    operator = await parts.accounts.sessions.caller_of(accounts["operator"].token)
    new = NewTenant(
        slug="regatta", name=LONG, plan=Plan.PRO, owner_email="rik@example.com", owner_password=""
    )
    made = await create_tenant(parts.records, new, operator)
    owner = await parts.accounts.sessions.caller_of(accounts["owner"].token)
    assert owner
    posts, products = demo.world.collection("posts"), demo.world.collection("products")
    async with parts.records.unit(replace(owner, address="203.0.113.7")) as unit:
        written = await unit.create(posts, {"title": LONG})
        await unit.update(posts, written["id"], {"scheduled_for": "2100-01-01 07:00:00Z"})
        await unit.create(products, {"name": "A tide clock"})
    try:
        raise ZeroDivisionError
    except ZeroDivisionError as error:
        parts.error_log.record(error, "errorsrequestid", demo.id, "GET", path=f"/posts/{LONG}")
    await parts.error_log.flush()
    now = clock.to_text(parts.records.clock())
    failed = {**new_job(demo.id, "media.copies", {}, now), "failed_at": now, "attempts": 9}
    statement = parts.database.compile(sa.insert(jobs))
    async with parts.database.transaction(EVERY_TENANT) as tx:
        await tx.execute(statement, statement.bind({**failed, "error": "DecompressionBombError"}))
    return {
        "error": "errorsrequestid",
        "tenants": demo.id,
        "tenants-invited": made.tenant_id,
        **await _closed(demo, operator),
    }


async def _closed(demo: TenantWorld, operator: Caller | None) -> dict[str, str]:
    """A site that is suspended, and one that waits for its deletion."""
    world = demo.world
    found = await world.parts.directory.by_slug("closed")
    assert found
    reason = f"The invoices since June are open. Please write to office@example.com. {LONG}"
    closed = TenantWorld(world, found.id, "closed")
    await closed.update("tenants", closed.id, {"status": "suspended", "suspension_reason": reason})
    going = await world.new_tenant("The Tollkeeper", slug="going")
    await going.owner()
    tenant = await world.parts.directory.by_slug("going")
    assert tenant
    asked = Requester(tenant, operator, is_trusted=True)
    await world.parts.privacy.requests.open_deletion(asked, DataRequest("tenant"))
    return {"tenants-suspended": closed.id, "tenants-deleted": going.id}


async def _media(demo: TenantWorld, accounts: dict[str, Account]) -> dict[str, str]:
    """The demo magazine has pictures; a file without one, and one that many places use."""
    made = await accounts["owner"].api.post(
        records_of("media"), files={"file": (f"{LONG}.txt", b"Words.")}
    )
    file = made.json()
    html = f'<p><a href="{file["url"]}">All words</a></p>'
    for number in range(3):
        await demo.post(title=f"Words, part {number}", content_html=html)
    [shown, *_] = await demo.world.parts.records.find(
        demo.world.collection("media"), {"mime_family": "image"}, tenant_id=demo.id
    )
    return {"media": shown["id"], "media-file": file["id"]}


async def _members(demo: TenantWorld) -> dict[str, str]:
    member = await demo.create(
        "blog_members",
        {
            "email": "konstantin.freiherr-von-hohenlohe@donaudampfschifffahrt.example",
            "labels": ["founders", "Donaudampfschifffahrtsgesellschaft"],
            "note": "Met at the harbour fair.",
        },
    )
    await demo.update("blog_members", member["id"], {"tier": "paid", "newsletter": True})
    parts = demo.world.parts
    [owner] = await parts.records.find(superusers, {"email": OWNER}, tenant_id=demo.id)
    caller = Caller(Kind.OWNER, demo.id, id=owner["id"])
    blog_members = demo.world.collection("blog_members")
    await parts.records.update(caller, blog_members, member["id"], {"status": "past_due"})
    privacy = demo.world.parts.privacy
    site = await demo.world.parts.directory.by_id(demo.id)
    assert site is not None
    requester = Requester(site, system(demo.id), is_trusted=True)
    body = DataRequest("member", member["id"])
    request, _ = await privacy.exports.begin(requester, body)
    await privacy.requests.open_deletion(requester, body)
    copy, _ = await privacy.exports.begin(requester, replace(body, subject="tenant", member_id=""))
    return {"blog_members": member["id"], "gdpr_requests": request["id"], "copy": copy["id"]}


async def _mailed(demo: TenantWorld, mailing_id: str) -> str:
    """A mailing's recipients in every state, and a member whose address was stopped."""
    words = "550 5.1.1 <…>: Recipient address rejected: User unknown in virtual mailbox table"
    database, records = demo.world.parts.database, demo.world.parts.records
    insert = database.compile(sa.insert(mailing_recipients))
    for number, state in enumerate(
        ("sent", "failed", "uncertain", "unsubscribed", "sent", "failed")
    ):
        values = {
            "email": f"{'sehr-' * number}lange-adresse@donaudampfschifffahrt.example",
            "name": f"{LONG} {number}",
            "newsletter": True,
        }
        member = await demo.create("blog_members", values)
        row = {"tenant_id": demo.id, "mailing_id": mailing_id, "member_id": member["id"]}
        row |= {"state": state, "due_at": "", "ended_at": "2026-11-14T08:16:00.000Z"}
        row |= {"reply": words if state == "failed" else "", "report": ""}
        if number == 5:
            row["report"] = "bounced"
        row |= {"claimed_by": "", "attempts": 1, "opened_at": "", "clicked_at": ""}
        async with database.transaction(EVERY_TENANT) as tx:
            await tx.execute(insert, insert.bind(row))
    stamped = {"mail_state": "bounced", "mail_state_reason": words}
    await records.update(
        system(demo.id), demo.world.collection("blog_members"), member["id"], {}, stamped=stamped
    )
    return str(member["id"])


async def _member_imports(demo: TenantWorld) -> dict[str, str]:
    """In every state, without a worker."""
    content = (
        "E-Mail-Adresse,name,labels,subscribed,tier,created_at,Kundennummer\n"
        "konstantin.freiherr-von-hohenlohe@donaudampfschifffahrt.example,"
        f'Konstantin,"founders, {LONG[:50]}",yes,paid,2019-05-12,A-1\n'
        "bo@example.com,Bo Lind,,no,free,2021-03-04,A-2\n"
        "not an address,,,,gold,,A-3\n"
    )
    problems = [
        [4, f"{BAD_EMAIL} {BAD_TIER}"],
        *([row, REPEATED] for row in (17, 204, 1_377)),
    ]
    done = {"rows": 1_204, "read_rows": 1_204, "added": 1_100, "changed": 96, "unchanged": 4}
    states: dict[str, dict[str, Any]] = {
        "": {"status": "uploaded", "rows": 3, "options": {"columns": _COLUMNS}},
        "-running": {"status": "running", "rows": 1_204, "read_rows": 312, "added": 312},
        "-failed": {"status": "failed", "rows": 9, "error": "This site is read-only."},
        "-done": {"status": "done", **done, "refused": 4, "problems": problems},
    }
    made = {}
    parts, collection = demo.world.parts, demo.world.collection("member_imports")
    for state, values in states.items():
        stamped = {"file_name": f"{LONG}.csv", "encoding": "UTF-8", "delimiter": ",", **values}
        if state in ("-failed", "-done"):
            stamped["finished_at"] = clock.to_text(parts.records.clock())
        async with parts.records.unit(system(demo.id)) as unit:
            run = await unit.create(collection, {}, stamped=stamped)
            key = file_key(demo.id, collection, run["id"], "members.csv")
            await unit.update(collection, run["id"], {}, stamped={"object_key": key})
        await parts.objects.put(key, content.encode())
        made[f"member_imports{state}"] = run["id"]
    return made


_COLUMNS = {
    "email": "e_mail_adresse",
    **{name: name for name in ("name", "labels", "tier")},
    "newsletter": "subscribed",
    "created": "created_at",
}


async def _pages(demo: TenantWorld) -> dict[str, str]:
    await demo.create("pages", {"title": LONG, "status": "published"})
    page = await demo.create("pages", {"title": "Imprint", "content_html": ""})
    revision = await demo.world.parts.records.create(
        system(demo.id),
        demo.world.collection("page_revisions"),
        {},
        stamped={
            "page_id": page["id"],
            "title": LONG,
            "content_html": FOG,
            "saved_at": "2026-11-02T08:15:00.000Z",
        },
    )
    return {"pages": page["id"], "page_revisions": revision["id"]}


async def _settings(demo: TenantWorld, account: Account) -> dict[str, str]:
    """A domain that is asked for, a mail that failed, payment events, and AI that was used."""
    parts = demo.world.parts
    await demo.settings(wanted_domain="blog.tideline.example", member_payment_webhook_secret=SECRET)
    processor = Processor(demo)
    await processor.send(joined())
    await processor.post(b"{}", {"payment-signature": "0" * 64})
    await parts.ai.generator.ledger.record(demo.id, 700, 300, by_platform=False)
    owner = await parts.accounts.sessions.caller_of(account.token)
    assert owner
    mails = TestMails(parts.records, parts.mail, parts.sites, parts.windows, keyring=parts.keyring)
    mark = await mails.send(owner, {"email": f"{'long' * 12}@example.com"})
    mail_id = mark.partition("-")[0]
    await parts.mail.fail(demo.id, mail_id, "the mail server could not be reached", gave_up=False)
    return {"test-mail": mark}


async def _posts(demo: TenantWorld, accounts: dict[str, Account]) -> dict[str, str]:
    author = accounts["author"].id
    for number in range(22):
        await demo.post(title=f"Tide tables, week {number:02}", tags=["harbour"], authors=[author])
    await demo.published(title="Tomorrow's tides", published_at="2100-01-01T07:00:00Z")
    draft = await demo.post(title=LONG, visibility="paid")
    html = await demo.published(
        title=LONG, visibility="members", tags=["harbour"], content_html=_HTML_ONLY
    )
    comment = {"post_id": html["id"], "author_name": "Ana", "body": "Hm", "status": "pending"}
    waiting = await demo.create("comments", comment)
    records = demo.world.parts.records
    title = "Can the tide mill turn again?"
    [written] = await records.find(
        demo.world.collection("posts"), {"title": title}, tenant_id=demo.id
    )
    revised = await demo.published(title="A short history of fog signals", content_html=FOG)
    revision = await records.create(
        system(demo.id),
        demo.world.collection("post_revisions"),
        {},
        stamped={
            "post_id": revised["id"],
            "title": "Fog signals, a history",
            "content_html": FOG.replace("two minutes", "five minutes") + "<p>More follows.</p>",
            "tags": ["coast"],
            "saved_at": "2026-11-02T08:15:00.000Z",
            "saved_by": author,
        },
    )
    other = await records.create(
        system(demo.id),
        demo.world.collection("post_revisions"),
        {},
        stamped={
            "post_id": revised["id"],
            "title": "Fog signals",
            "content_html": FOG.replace("three parishes", "two parishes"),
            "status": "published",
            "saved_at": "2026-11-03T17:40:00.000Z",
            "saved_by": accounts["owner"].id,
        },
    )
    long_reads = {"name": LONG, "description": "Long reads, each Sunday.", "sender_name": "Nell"}
    newsletter = await demo.create("newsletters", long_reads)
    counted = {"recipients": 50_218, "sent": 31_204, "failed": 12, "uncertain": 3, "bounced": 9}
    mailing = await records.create(
        system(demo.id),
        demo.world.collection("mailings"),
        {},
        stamped={
            **counted,
            "post_id": revised["id"],
            "newsletter": "main",
            "subject": LONG,
            "status": "paused",
            "reason": "5 % of the emails came back. Look at the addresses before you resume.",
            "started_at": "2026-11-14T08:15:00.000Z",
        },
    )
    sending = await records.create(
        system(demo.id),
        demo.world.collection("mailings"),
        {},
        stamped={
            "post_id": written["id"],
            "newsletter": "main",
            "subject": "Can the tide mill turn again?",
            "status": "sending",
            "recipients": 1_204,
            "sent": 312,
            "opens": 140,
            "clicks": 12,
            "started_at": "2026-11-14T08:15:00.000Z",
        },
    )
    stopped = await _mailed(demo, mailing["id"])
    return {
        "members-stopped": stopped,
        "mailings-sending": sending["id"],
        "comments": waiting["id"],
        "newsletters": newsletter["id"],
        "mailings": mailing["id"],
        "posts": written["id"],
        "posts-html": html["id"],
        "posts-revised": revised["id"],
        "posts-draft": draft["id"],
        "post_revisions": revision["id"],
        "post_revisions-other": other["id"],
    }


_HTML_ONLY = (
    "<p>Fog</p>" * 9 + "<h2 id=signals>Signals</h2><dl><dt>Two blasts</dt><dd>Under way</dd></dl>"
)
"""Parts that the editor lacks."""


async def _reviews(demo: TenantWorld, accounts: dict[str, Account]) -> dict[str, str]:
    """A contributor's posts: one that is ready, one that was sent back, one that is published."""
    records, posts = demo.world.parts.records, demo.world.collection("posts")
    contributor, owner = (
        Caller(kind, demo.id, accounts[kind].id, collection=superusers.name)
        for kind in (Kind.CONTRIBUTOR, Kind.OWNER)
    )
    ready = {"content_html": FOG, "review": "ready"}
    back = await records.create(contributor, posts, {"title": "Where the eels go", **ready})
    note = "A fine start.\nCould you ask the warden for this year’s count, and cut the second part?"
    await records.update(owner, posts, back["id"], {"review": "", "review_note": note})
    mine = await demo.published(title="The ferryman’s dog", authors=[contributor.id])
    made = await records.create(contributor, posts, {"title": "Counting the terns", **ready})
    _, token = await make_link(records, contributor, made["id"])
    assert token
    words = {
        "type": "paragraph",
        "content": [{"type": "text", "text": "Write to the harbour office."}],
    }
    join = {"type": "join", "attrs": {"label": "Join the coast"}}
    for name, content in (("Subscribe to us", [words, join]), (LONG, [words] * 9)):
        document = {"type": "doc", "content": content}
        snippet = await demo.create("snippets", {"name": name, "content_json": document})
    return {
        "snippets": snippet["id"],
        "posts-sent-back": back["id"],
        "posts-contributed": mine["id"],
        "posts-ready": made["id"],
    }


async def _shop(demo: TenantWorld) -> dict[str, str]:
    items = [{"name": LONG, "quantity": 2, "price": 1250}, {"name": "Postage", "price": 450}]
    sold = {"email": "wilhelmina.featherstonehaugh@example.com", "currency": "eur"}
    order = await demo.create(
        "orders", {**sold, "status": "refunded", "items": items, "total": 2950, "payment_id": "p_1"}
    )
    for status in ("pending", "paid", "shipped", "cancelled"):
        await demo.create("orders", {**sold, "status": status, "total": 123_456})
    product = await demo.create("products", {"name": LONG, "price": 1250, "currency": "eur"})
    card = await demo.create(
        "gift_cards", {"code": "HARBOUR-7781-9921", "amount": 5000, **sold, "redeemed": True}
    )
    tier = {"name": "Harbour master", "price": 9000, "currency": "eur", "interval": "year"}
    made = await demo.create("tiers", {**tier, "benefits": ["Every post, and the maps"]})
    gift = {"kind": "membership", "tier_id": made["id"], "months": 12, "amount": 9000, **sold}
    later = {"buyer_email": "ana@example.com", "send_on": "2099-12-24 08:00:00Z"}
    bought = await demo.create("gift_cards", {**gift, **later, "code": "7QXK-4M2P-J0VA-9RTE"})
    void = {"voided_at": "2026-11-01 09:00:00Z", "months": 1, "code": "3NYH-C8DW-5ZGB-K6SF"}
    await demo.create("gift_cards", {**gift, **void})
    offer = {"code": "spring", "tier": made["id"], "kind": "percent", "value": 50}
    await demo.create(
        "offers", {**offer, "code": "old", "ends_at": "2026-01-01T00:00:00Z", "months": 12}
    )
    await demo.create("offers", {**offer, "code": "try", "kind": "trial_days", "value": 14})
    await demo.create("offers", {**offer, "code": "less", "kind": "amount", "active": False})
    limits = {"ends_at": "2027-01-01T00:00:00Z", "max_uses": 100}
    offered = await demo.create("offers", {**offer, **limits})
    return {
        "gift_cards": card["id"],
        "gift_memberships": bought["id"],
        "offers": offered["id"],
        "orders": order["id"],
        "products": product["id"],
        "tiers": made["id"],
    }


async def _staff(demo: TenantWorld, accounts: dict[str, Account]) -> dict[str, str]:
    given = {"email": "invited@example.com", "name": "Wilhelmina Featherstonehaugh-Cholmondeley"}
    stamped = {"token_key": "k" * 30}
    invited = await demo.world.parts.records.create(
        system(demo.id), superusers, {**given, "role": "author"}, stamped=stamped
    )
    token = demo.world.parts.accounts.reset_token(superusers, invited, INVITATION)
    return {
        "_superusers": accounts["author"].id,
        "_superusers-invited": invited["id"],
        "token": token,
    }


async def _webhooks(demo: TenantWorld) -> dict[str, str]:
    """One that works, one that failures have turned off, and deliveries in every state."""
    url = "https://hooks.tideline.example/a-rather-long-path/for/every/event"
    given = {"name": LONG, "url": url, "events": ["post.created", "post.published"]}
    works = await demo.create("webhook_subscriptions", given)
    off = await demo.create("webhook_subscriptions", given | {"name": "Notice board"})
    await demo.published(title="The winter issue is at the printer")
    html = "<html><h1>503 Service Temporarily Unavailable</h1></html>" * 9
    await _sent(demo, works["id"], 200, "Thank you")
    dead = await _sent(demo, off["id"], 503, html, disable_after=1)
    await demo.published(title="The ferry is late")
    parts = demo.world.parts
    run = str(ids.new_id())
    await parts.webhooks.retries.start(demo.id, run, DeliveryFilter())
    [pending, *_] = await parts.webhooks.deliveries.log.list(
        demo.id, DeliveryFilter(state="pending")
    )
    return {
        "webhook_subscriptions": works["id"],
        "webhook_subscriptions-off": off["id"],
        "webhook_deliveries": dead,
        "webhook_deliveries-pending": pending.id,
        "webhook_retries": run,
    }


async def _sent(
    demo: TenantWorld, webhook_id: str, status: int, answer: str, disable_after: int | None = None
) -> str:
    """Writes what the worker would after sending a queue, without a call. Returns one of the
    deliveries."""
    queue, now = demo.world.parts.webhooks.deliveries, demo.world.clock()
    key = QueueKey(demo.id, webhook_id)
    claimed = (await queue.claim({key: 100}, now))[key]
    signed = Signed(int(now.timestamp()), f"v1={'5f' * 32}", f"v1,{'Zm9n' * 11}")
    error = "" if status == 200 else f"The receiver answered {status}."
    sent = SendResult("https://hooks.tideline.example/in", signed, status, 412, error, answer)
    state = DELIVERED if status == 200 else DEAD
    results = [Result(ids.new_log_id(), each, 1, sent, now, state, None) for each in claimed]
    await queue.record(results, disable_after)
    return claimed[0].id


async def _tags(demo: TenantWorld) -> dict[str, str]:
    """One that is being renamed: no worker is there to do it."""
    await demo.published(title="Spring tides", tags=["tides", LONG])
    await change_tag(demo.world.parts.records, system(demo.id), "tides", "Tides and currents")
    return {}
