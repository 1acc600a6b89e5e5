"""A member's account, which they can see, change, export and delete.

Each part of the page has its own form. After a change the browser is sent back to the page, which
says what was done; a form with a problem is shown again with what was typed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import wraps
from urllib.parse import quote

from msgspec.structs import replace

from masthead.base import clock
from masthead.base.errors import Invalid, Problem
from masthead.base.languages.moments import Day
from masthead.base.languages.words import words
from masthead.content.texts.languages import edition_of, root_of
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import REQUIRED
from masthead.faces.reader.cards import local_time
from masthead.faces.reader.endpoint import Form, Page, Redirect, see_other
from masthead.faces.reader.member.sessions import ACCOUNT, SIGN_IN, caller_of, session_cookies
from masthead.faces.reader.member_views import (
    AccountPage,
    Connected,
    DeletePage,
    FormProblem,
    Newsletter,
    SignIn,
)
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import page_title, site_of
from masthead.faces.reader.tiers import own_tier, sells_gifts
from masthead.faces.reader.views import Head, Link, MessagePage
from masthead.features.members.collection import ACCOUNT_PAGE, blog_members, consent
from masthead.features.members.email_change import new_address
from masthead.features.members.newsletters import newsletters
from masthead.features.members.record_view import MemberRecord
from masthead.features.privacy.collection import gdpr_requests
from masthead.features.privacy.limits import admit
from masthead.features.privacy.links import GRACE_PERIOD
from masthead.features.privacy.validation import MEMBER, PHRASE, DataRequest, Requester
from masthead.features.services import FeatureServices
from masthead.identity.browsers import browser_name
from masthead.identity.given_passwords import new_credentials
from masthead.identity.sessions import FORGET
from masthead.outside.mail.wording import where_stored

MAX_NEWSLETTERS = 50
"""That a member can choose from."""

DONE = {
    "joined": words("Welcome! You are now a member and signed in."),
    "name": words("Your name is saved."),
    "newsletter": words("Saved."),
    "comment-mails": words("Saved."),
    "language": words("Saved."),
    "password": words("Your new password is set. You are signed out everywhere else."),
    "sign_in": words("That sign-in has ended."),
    "connection": words("Removed."),
    "gift": words("Your gift is redeemed: you are a paid member."),
}
"""The page's message after a change, by the word in its address."""
MAILED = {
    "email": (
        words("A link is being sent to the new address."),
        words("A link for the new address was written, not sent."),
        words("The change takes effect when you confirm it there."),
    ),
    "password_link": (
        words("A link is being sent to you."),
        words("A link for you was written, not sent."),
        words("It leads to a page where you choose a password."),
    ),
}
"""The same for changes that an email follows: what happens to it, the same without a mail server,
and what comes then."""

SAME_ADDRESS = Problem(
    "validation_values_mismatch", words("Your account already has this address.")
)

Handler = Callable[..., Awaitable[Page | Redirect]]


def for_member(handler: Handler) -> Handler:
    """Guests are asked to sign in first."""

    @wraps(handler)
    async def handle(self: Account, request: SiteRequest, *given: Form) -> Page | Redirect:
        if request.member is None:
            return see_other(f"{SIGN_IN}?back={quote(ACCOUNT)}")
        return await handler(self, request, request.member, *given)

    return handle


class Account:
    def __init__(self, services: FeatureServices) -> None:
        self._services = services

    @for_member
    async def page(self, request: SiteRequest, member: MemberRecord) -> Page:
        return await self._draw_page(request, member, notice=_notice(request))

    @for_member
    async def set_name(
        self, request: SiteRequest, member: MemberRecord, form: Form
    ) -> Page | Redirect:
        name = " ".join(form.get("name", "").split())
        try:
            await self._update(request, member, {"name": name})
        except Invalid as error:
            return await self._show_refusal(request, member, "name", error.problems, typed=name)
        return _done("name")

    @for_member
    async def set_newsletter(
        self, request: SiteRequest, member: MemberRecord, form: Form
    ) -> Redirect:
        await self._update(request, member, {"newsletter": form.get("newsletter") == "true"})
        return _done("newsletter")

    @for_member
    async def choose_newsletter(
        self, request: SiteRequest, member: MemberRecord, form: Form
    ) -> Redirect:
        """Turns one of several on or off; an unknown one changes nothing."""
        slug, is_on = form.get("newsletter", ""), form.get("on") == "true"
        known = {each["slug"] for each in await newsletters_of(request)}
        if slug in known:
            async with request.records.unit(caller_of(request.tenant_id, member)) as unit:
                # Read again: a link of an email may just have turned off another one.
                now = await unit.require(blog_members, {"id": member["id"]})
                # Slugs of newsletters that are gone make room for others.
                off = [each for each in now["newsletters_off"] if each in known and each != slug]
                changes = {"newsletters_off": off if is_on else [*off, slug]}
                await unit.update(blog_members, member["id"], changes)
        return _done("newsletter")

    @for_member
    async def set_comment_mails(
        self, request: SiteRequest, member: MemberRecord, form: Form
    ) -> Redirect:
        is_off = form.get("comment_mails") != "true"
        await self._update(request, member, {"comment_mails_off": is_off})
        return _done("comment-mails")

    @for_member
    async def set_language(
        self, request: SiteRequest, member: MemberRecord, form: Form
    ) -> Redirect:
        """The next page is in the new language. One that the site does not have changes nothing."""
        wanted = form.get("language", "")
        edition = edition_of(wanted, request.site_record)
        if wanted in request.editions.values():
            await self._update(request, member, {"language": wanted})
        url = f"{site_of(request).url}{root_of(edition)}{ACCOUNT}?done=language"
        return see_other(url)

    @for_member
    async def set_email(
        self, request: SiteRequest, member: MemberRecord, form: Form
    ) -> Page | Redirect:
        given = form.get("email", "").strip()
        caller = caller_of(request.tenant_id, member)
        try:
            email = new_address(caller, {"email": given})
            if not email:
                raise Invalid({"email": SAME_ADDRESS if given else REQUIRED})
        except Invalid as error:
            return await self._show_refusal(request, member, "email", error.problems, typed=given)
        async with request.records.unit(caller) as unit:
            record = await unit.update(blog_members, member["id"], {})
            await self._services.members.email_changes.request(unit, record, email)
        return _done("email")

    @for_member
    async def set_password(
        self, request: SiteRequest, member: MemberRecord, form: Form
    ) -> Page | Redirect:
        """A member without a password gets a link by email, as for a forgotten one: a session that
        was left open must not be enough to set one."""
        if not member["password_hash"]:
            await self._services.passwords.resets.request(
                blog_members, request.tenant_id, member["email"], request.client.address
            )
            return _done("password_link")
        try:
            await self._check_old_password(request, member, form)
            given = {name: form.get(name, "") for name in ("password", "passwordConfirm")}
            stamped = await new_credentials(given, required=True, email=member["email"])
        except Invalid as error:
            return await self._show_refusal(request, member, "password", error.problems)
        caller = caller_of(request.tenant_id, member)
        changed = await request.records.update(
            caller, blog_members, member["id"], {}, stamped=stamped
        )
        account = member | changed | stamped
        accounts = self._services.accounts
        signed_in = await accounts.begin(blog_members, account, request.client)
        return _done("password", *session_cookies(request, signed_in))

    @for_member
    async def end_sign_in(self, request: SiteRequest, member: MemberRecord, form: Form) -> Redirect:
        ended = form.get("sign_in", "")
        await self._services.accounts.sign_ins.end(blog_members, member, ended)
        if ended == request.member_sign_in:
            return see_other("/", *session_cookies(request, None))
        return _done("sign_in")

    @for_member
    async def disconnect(self, request: SiteRequest, member: MemberRecord, form: Form) -> Redirect:
        members, link = self._services.single_sign_on.members, form.get("connection", "")
        await members.disconnect(request.tenant_id, member, link)
        return _done("connection")

    @for_member
    async def sign_out_everywhere(
        self, request: SiteRequest, member: MemberRecord, _form: Form
    ) -> Redirect:
        await self._services.accounts.sign_ins.end_all(blog_members, member)
        return see_other(SIGN_IN, FORGET, *session_cookies(request, None))

    @for_member
    async def export(self, request: SiteRequest, member: MemberRecord, _form: Form) -> Page:
        requester, body = await self._privacy_request(request, member)
        asked, ready = await self._services.privacy.exports.begin(requester, body)
        back = Link(words("Back to your account"), ACCOUNT)
        if ready is None:
            follows = words("We are collecting your data. You will get an email with a link to it.")
            page = MessagePage(words("Your data"), (follows, *_stored(request)), links=(back,))
            return _message(request, page)
        download = self._services.privacy.links.download(asked["id"], ready.token)
        text = words(
            "A file with everything that the site stores about you. You also get the link by "
            "email; it works for seven days."
        )
        links = (Link(words("Download the file"), download), back)
        return _message(
            request,
            MessagePage(words("Your data is ready"), (text, *_stored(request)), links=links),
        )

    @for_member
    async def delete_page(self, request: SiteRequest, member: MemberRecord) -> Page:
        return await _delete(request, member)

    @for_member
    async def delete(self, request: SiteRequest, member: MemberRecord, form: Form) -> Page:
        if form.get("phrase", "").strip() != PHRASE:
            problem = FormProblem(
                "phrase", words("Type %(phrase)s, in capital letters.", phrase=PHRASE)
            )
            return await _delete(request, member, (problem,), 422)
        requester, body = await self._privacy_request(request, member)
        opened = await self._services.privacy.requests.open_deletion(requester, body)
        day = local_time(request, opened.request["grace_until"])
        text = (
            words("Your account and your data will be deleted on %(date)s.", date=Day(day)),
            words("Until then, you can cancel with the link in the email about it."),
            *_stored(request),
        )
        links = (Link(words("Back to your account"), ACCOUNT),)
        return _message(request, MessagePage(words("The deletion is planned"), text, links=links))

    async def _update(
        self, request: SiteRequest, member: MemberRecord, changes: dict[str, object]
    ) -> None:
        caller = caller_of(request.tenant_id, member)
        agreed: dict[str, str] = {}
        if changes.get("newsletter") and not member["newsletter"]:
            now = clock.to_text(request.records.clock())
            agreed = consent(ACCOUNT_PAGE, now, f"{site_of(request).url}{ACCOUNT}")
        await request.records.update(caller, blog_members, member["id"], changes, stamped=agreed)

    async def _check_old_password(
        self, request: SiteRequest, member: MemberRecord, form: Form
    ) -> None:
        caller = caller_of(request.tenant_id, member)
        old, address = form.get("oldPassword", ""), request.client.address
        accounts = self._services.accounts
        if not await accounts.verify_password(blog_members, caller, old, address):
            wrong = Problem(
                "validation_invalid_old_password", words("This is not your current password.")
            )
            raise Invalid({"oldPassword": wrong})

    async def _privacy_request(
        self, request: SiteRequest, member: MemberRecord
    ) -> tuple[Requester, DataRequest]:
        caller = caller_of(request.tenant_id, member)
        await admit(self._services.windows, request.tenant_id, caller, request.client.address)
        body = DataRequest(MEMBER, member["id"])
        return Requester(request.tenant, caller, is_trusted=True), body

    async def _show_refusal(
        self,
        request: SiteRequest,
        member: MemberRecord,
        part: str,
        problems: dict[str, Problem],
        *,
        typed: str = "",
    ) -> Page:
        shown = tuple(FormProblem(name, each.message) for name, each in problems.items())
        drawn = await self._draw_page(request, member, opened=part, typed=typed, problems=shown)
        return replace(drawn, status=422)

    async def _draw_page(
        self,
        request: SiteRequest,
        member: MemberRecord,
        *,
        notice: str = "",
        opened: str = "",
        typed: str = "",
        problems: tuple[FormProblem, ...] = (),
    ) -> Page:
        sign_ins = await self._services.accounts.sign_ins.of(blog_members, member)
        page = AccountPage(
            name=member["name"],
            email=member["email"],
            newsletter=member["newsletter"],
            newsletters=await _choices(request, member) if member["newsletter"] else (),
            comment_mails=not member["comment_mails_off"],
            has_password=bool(member["password_hash"]),
            tier=await own_tier(request, member),
            sign_ins=tuple(
                SignIn(
                    each.id,
                    browser_name(each.user_agent),
                    each.address,
                    local_time(request, each.created),
                    local_time(request, each.last_seen),
                    each.id == request.member_sign_in,
                )
                for each in sign_ins
            ),
            connections=await self._connections(request, member),
            sells_gifts=await sells_gifts(request),
            notice=notice,
            deleted_on=await _deletion_day(request, member),
            opened=opened,
            typed=typed,
            problems=problems,
        )
        head = Head(title=page_title(request, words("Your account")), noindex=True)
        return Page("account.html", head, page)

    async def _connections(
        self, request: SiteRequest, member: MemberRecord
    ) -> tuple[Connected, ...]:
        found = await self._services.single_sign_on.members.connections(request.tenant_id, member)
        return tuple(
            Connected(each.id, each.provider, local_time(request, each.created)) for each in found
        )


async def _deletion_day(request: SiteRequest, member: MemberRecord) -> datetime | None:
    asked = {"subject": MEMBER, "member_id": member["id"], "type": "delete", "status": "queued"}
    found = await request.records.find(gdpr_requests, asked, tenant_id=request.tenant_id, limit=10)
    days = [each["grace_until"] for each in found if each["confirmed_at"]]
    return local_time(request, min(days)) if days else None


def _done(what: str, *headers: tuple[bytes, bytes]) -> Redirect:
    return see_other(f"{ACCOUNT}?done={what}", *headers)


async def _delete(
    request: SiteRequest,
    member: MemberRecord,
    problems: tuple[FormProblem, ...] = (),
    status: int = 200,
) -> Page:
    head = Head(title=page_title(request, words("Delete your account")), noindex=True)
    tier = await own_tier(request, member)
    page = DeletePage(PHRASE, GRACE_PERIOD.days, problems, tier.is_subscribed and not tier.ends)
    return Page("delete_account.html", head, page, status)


def _message(request: SiteRequest, page: MessagePage) -> Page:
    head = Head(title=f"{page.title} · {site_of(request).name}", noindex=True)
    return Page("message.html", head, page)


def _notice(request: SiteRequest) -> str:
    done = request.query.get("done", "")
    if done not in MAILED:
        return DONE.get(done, "")
    sent, written, then = MAILED[done]
    stored = where_stored(request.services.settings)
    return f"{written} {stored} {then}" if stored else f"{sent} {then}"


def _stored(request: SiteRequest) -> tuple[str, ...]:
    stored = where_stored(request.services.settings)
    return (stored,) if stored else ()


async def newsletters_of(request: SiteRequest) -> list[Record]:
    """The oldest first."""
    return await request.first(newsletters, MAX_NEWSLETTERS, sort="created")


async def _choices(request: SiteRequest, member: MemberRecord) -> tuple[Newsletter, ...]:
    found = await newsletters_of(request)
    off = member["newsletters_off"]
    choices = tuple(
        Newsletter(each["slug"], each["name"], each["description"], each["slug"] not in off)
        for each in found
    )
    return choices if len(choices) > 1 else ()
