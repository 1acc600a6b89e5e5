"""Mail scanners open every link in an email: that must not change anything."""

from __future__ import annotations

import re
from email.message import EmailMessage
from html import unescape
from urllib.parse import urlsplit

from tests.features.privacy.requests import DELETE, EXPORT, deletion, member_deletion, outsider
from tests.outside.mail.offices import Office, everything, text_of
from tests.world import Account, TenantWorld, records_of

from masthead.base.caller import system
from masthead.faces.site_export.formats import Format
from masthead.features.mailings.stopped_email import mailing_stopped
from masthead.features.members.unsubscribe import Unsubscribe
from masthead.features.password_reset.invitations import Invitations
from masthead.features.payments.memberships import WELCOME
from masthead.features.site.address import Site
from masthead.features.site.mail_trial import TestMails
from masthead.features.site.suspension import lift, suspend
from masthead.features.webhooks.actions import subscribe
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.queue import NOTIFY_DISABLED
from masthead.identity.one_time_codes import new_totp_secret
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import superusers
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.message import Mail
from masthead.outside.mail.rendering import FOLDER

SUBJECTS = {
    "comment_answered": "Bob replied to your comment",
    "comment_posted": "New comment on ",
    "factors_changed": "The second factors of your account at ",
    "new_browser": "A new sign-in to ",
    "invitation": "You are invited to ",
    "already_member": "You are already a member of ",
    "confirm_sign_up": "Confirm that you want to join ",
    "sign_in": "Sign in to ",
    "site_export": "The export of ",
    "confirm_email": "Confirm your email address for ",
    "email_in_use": "You already have an account at ",
    "email_changed": "Your email address at ",
    "privacy_export_ready": "Your data from ",
    "privacy_deletion": "Confirm the deletion of ",
    "privacy_receipt": "Your data at ",
    "reset_password": "Choose a new password for ",
    "site_suspended": "tenant was suspended",
    "staff_code": "Your code for ",
    "verify_email": "Confirm that ",
    "test_mail": "A test email from ",
    "mailing_failed": "A newsletter of tenant failed",
    "mailing_paused": "A newsletter of tenant was paused",
    "domain_unproven": "The domain of ",
    "webhook_disabled": "A webhook of ",
    "welcome_paid": "You are a paid member of ",
    "gift_given": "A gift for you at ",
    "gift_bought": "Your gift at ",
    "post_ready": "Ready for review at ",
    "post_sent_back": "Sent back at ",
}
"""How the subject of each template's mail begins."""
NEWSLETTER = "A newsletter"
ACCEPTS = ("text/html", "text/html,*/*;q=0.8", "*/*", "application/json", "image/*", "")
CHANGED_BY_CANCELLING = {
    # The request, the read-only mode, and rows that change with every write.
    "gdpr_requests",
    "site_settings",
    "tenant_states",
    "events",
    "jobs",
}


def links_in(mail: EmailMessage) -> set[str]:
    headers = " ".join(str(value) for value in mail.values())
    html = unescape(text_of(mail, "html"))
    found = re.findall(r"https?://[^\s<>\"]+", f"{headers} {text_of(mail)} {html}")
    return set(found)


async def every_mail(office: Office, tenant: TenantWorld) -> list[EmailMessage]:
    """One of every template at least, and a newsletter."""
    cem = await tenant.member(email="cem@example.com")
    await cem.api.post(DELETE, json=member_deletion(cem.id))
    office.world.clock.advance(days=31)
    await office.send()
    ana = await tenant.member(email="ana@example.com", newsletter=True)
    bob = await tenant.member(email="bob@example.com")
    owner = await tenant.owner()
    await review(office, tenant, owner)
    await change_addresses(office, tenant, ana, bob)
    await queue_newsletter(tenant, ana)
    reset = "/api/collections/blog_members/request-password-reset"
    await tenant.guest.post(reset, json={"email": ana.email})
    await join(tenant, ana)
    staff = "/api/collections/_superusers/request-otp"
    await tenant.guest.post(staff, json={"email": owner.email})
    verify = "/api/collections/blog_members/request-verification"
    await tenant.guest.post(verify, json={"email": bob.email})
    await invite(tenant)
    await guard(tenant, owner)
    parts = tenant.world.parts
    test_mails = TestMails(
        parts.records, parts.mail, parts.sites, parts.windows, keyring=parts.keyring
    )
    await test_mails.send(system(tenant.id), {"email": "fay@example.com"})
    await disable_webhook(tenant)
    await suspend_for_a_moment(tenant)
    await lose_the_domain(tenant)
    await bounce_too_often(tenant)
    await pay(tenant, bob)
    await discuss(tenant, ana)
    await owner.api.post(EXPORT, json={"type": "tenant"})
    await tenant.world.parts.site_exports.begin(tenant.id, Format.CSV, owner.id)
    await ana.api.post(DELETE, json=member_deletion(ana.id))
    await outsider(tenant).post(DELETE, json=deletion(tenant))
    mails = await office.mails()
    templates = {path.stem for path in FOLDER.glob("*.html")} - {"base", "parts"}
    assert set(SUBJECTS) == templates
    for beginning in (*SUBJECTS.values(), NEWSLETTER):
        assert any(mail["subject"].startswith(beginning) for mail in mails), beginning
    return mails


async def review(office: Office, tenant: TenantWorld, owner: Account) -> None:
    post = await tenant.post(review="ready", authors=[owner.id])
    await office.send()
    await tenant.update("posts", post["id"], {"review": "", "review_note": "Shorter"})


async def change_addresses(office: Office, tenant: TenantWorld, ana: Account, bob: Account) -> None:
    own = records_of("blog_members", ana.id)
    await ana.api.patch(own, json={"email": bob.email})
    await bob.api.patch(records_of("blog_members", bob.id), json={"email": "b2@example.com"})
    confirming = await office.mail_to("b2@example.com")
    (confirm,) = (link for link in links_in(confirming) if "token=" in link)
    assert (await tenant.guest.post(confirm)).status_code == 200
    await ana.api.patch(own, json={"email": "a2@example.com"})


async def lose_the_domain(tenant: TenantWorld) -> None:
    parts = tenant.world.parts
    async with parts.records.unit(system(tenant.id)) as unit:
        mail = write_email(
            "domain_unproven",
            Site("tenant", f"http://{tenant.host}"),
            "gus@example.com",
            subject="The domain of tenant: its TXT record is missing",
            domain="blog.example.com",
            record_name="_masthead.blog.example.com",
            record_value="masthead-site=0123",
            ends="1 December 2026",
        )
        await parts.mail.queue(unit, mail)


async def bounce_too_often(tenant: TenantWorld) -> None:
    parts = tenant.world.parts
    async with parts.records.unit(system(tenant.id)) as unit:
        for status in ("paused", "failed"):
            mailing = {
                "id": "aaaaaaaaaaaaaaa",
                "status": status,
                "subject": "Tides",
                "reason": "The mail server accepted none of the emails.",
                "sent": 0,
                "failed": 60,
                "bounced": 9,
                "recipients": 500,
            }
            mail = mailing_stopped(
                mailing, Site("tenant", f"http://{tenant.host}"), "gus@example.com"
            )
            await parts.mail.queue(unit, mail)


async def suspend_for_a_moment(tenant: TenantWorld) -> None:
    parts = tenant.world.parts
    operator = system(tenant.id)
    await suspend(parts.records, parts.mail, parts.settings, operator, reason="The bill is open.")
    await lift(parts.records, operator)


async def invite(tenant: TenantWorld) -> None:
    parts = tenant.world.parts
    invitations = Invitations(
        parts.records, parts.accounts, parts.throttle, parts.mail, parts.sites
    )
    given = {"email": "eve@example.com"}
    await invitations.invite(system(tenant.id), tenant.id, given, by="Ada")


async def guard(tenant: TenantWorld, owner: Account) -> None:
    parts = tenant.world.parts
    [account] = await parts.records.find(superusers, {"id": owner.id}, tenant_id=tenant.id)
    for browser in ("Firefox", "Chrome"):
        await parts.accounts.begin(superusers, account, Client("192.0.2.1", browser))
    await parts.factors.add_app(system(tenant.id), account, new_totp_secret(), 1)


async def join(tenant: TenantWorld, member: Account) -> None:
    own = {"sec-fetch-site": "same-origin"}
    for path, email in (
        ("/member/sign-up", "dot@example.com"),
        ("/member/sign-up", member.email),
        ("/member/sign-in", member.email),
    ):
        await tenant.guest.post(path, data={"email": email}, headers=own)


async def disable_webhook(tenant: TenantWorld) -> None:
    """As the worker does it when deliveries keep failing."""
    values = {"name": "Hook", "url": "https://hooks.example/in", "events": ["post.created"]}
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        hook, _ = await subscribe(unit, values)
        stamped = {"disabled_at": hook["created"], "failure_count": 5}
        await unit.update(webhook_subscriptions, hook["id"], {}, stamped=stamped)
        await unit.enqueue(NOTIFY_DISABLED, {"webhook_id": hook["id"]})


async def pay(tenant: TenantWorld, member: Account) -> None:
    """As an event of the payment processor does it."""
    await tenant.update("blog_members", member.id, {"tier": "paid"})
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        await unit.enqueue(WELCOME, {"member_id": member.id})
    await tenant.settings(member_payment_secret_key="sk_test_1")
    gift = {"kind": "membership", "months": 3, "buyer_email": "hal@example.com"}
    at_once = {**gift, "send_on": "2026-01-01 08:00:00Z"}
    await tenant.create("gift_cards", {**at_once, "code": "HAL-1"})
    await tenant.create("gift_cards", {**at_once, "code": "HAL-2", "email": "ivy@example.com"})


async def discuss(tenant: TenantWorld, member: Account) -> None:
    """An answer to a member's comment that was approved, and a comment that waits."""
    post = await tenant.published(title="Fog")
    comments = tenant.world.collection("comments")
    given = {"post_id": post["id"], "author_name": "Bob", "body": "Hello"}
    stamped = {"member_id": member.id}
    records = tenant.world.parts.records
    first = await records.create(system(tenant.id), comments, given, stamped=stamped)
    await tenant.create("comments", given | {"parent_id": first["id"]})
    await tenant.create("comments", given | {"status": "pending"})


async def queue_newsletter(tenant: TenantWorld, to: Account) -> None:
    parts = tenant.world.parts
    site = await parts.sites.of(tenant.id)
    leave = Unsubscribe(parts.records, parts.keyring)
    newsletter = Mail(
        "email_in_use",
        to.email,
        NEWSLETTER,
        {"site_name": site.name, "site_url": site.url},
        unsubscribe_url=leave.url(site.url, tenant.id, to.email),
    )
    async with parts.records.unit(system(tenant.id)) as unit:
        await parts.mail.queue(unit, newsletter)


def is_specified_to_act(link: str, accept: str) -> bool:
    """Only cancelling, and only if HTML is not accepted."""
    return urlsplit(link).path.endswith("/cancel") and "text/html" not in accept


async def test_opening_a_link_of_an_email_changes_nothing(office: Office) -> None:
    world = office.world
    tenant = await world.new_tenant()
    mails = await every_mail(office, tenant)
    links = sorted(set().union(*(links_in(mail) for mail in mails)))
    assert {re.sub(r"/[a-z0-9]{15}\b", "/ID", urlsplit(link).path) for link in links} == {
        "",
        "/admin",
        "/admin/account",
        "/admin/mailings/ID",
        "/admin/posts/ID",
        "/admin/reset-password",
        "/admin/tools/export",
        "/admin/webhooks/ID",
        "/member/account",
        "/member/approve-comment",
        "/member/comment-mails",
        "/member/confirm-email",
        "/member/link",
        "/member/redeem",
        "/member/reset-password",
        "/member/unsubscribe",
        "/posts/fog",
        "/api/gdpr/export/ID",
        "/api/gdpr/delete/ID/cancel",
        "/api/gdpr/delete/ID/confirm",
    }
    before = await everything(world)
    for link in links:
        for accept in ACCEPTS:
            for method in ("GET", "HEAD"):
                if method == "GET" and is_specified_to_act(link, accept):
                    continue
                answer = await world.client(tenant.host).request(
                    method, link, headers={"accept": accept}
                )
                assert answer.status_code < 500
                assert answer.is_redirect or answer.headers["content-type"]
    # Once: to read every table after each request takes nearly a minute.
    assert await everything(world) == before


async def test_opening_a_cancel_link_as_a_program_only_cancels(office: Office) -> None:
    world = office.world
    tenant = await world.new_tenant()
    links = set().union(*(links_in(mail) for mail in await every_mail(office, tenant)))
    before = await everything(world)
    for link in links:
        if is_specified_to_act(link, "*/*"):
            await world.client(tenant.host).get(link, headers={"accept": "*/*"})
    after = await everything(world)
    changed = {name for name in after if after[name] != before[name]}
    assert "gdpr_requests" in changed
    assert changed <= CHANGED_BY_CANCELLING
