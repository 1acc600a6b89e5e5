"""Sign-up, sign-in, forgotten passwords and sign-out.

No answer shows whether an address has an account: what is asked for goes by email, and the worker
looks the address up.
"""

from __future__ import annotations

from msgspec.structs import replace

from masthead.base import ids
from masthead.base.errors import BadRequest, Forbidden, RateLimited
from masthead.base.languages.formats import listed
from masthead.base.languages.words import words
from masthead.engine.records.fields.base import REQUIRED, FieldError
from masthead.faces.reader.endpoint import Form, Page, Redirect, see_other
from masthead.faces.reader.member.account import newsletters_of
from masthead.faces.reader.member.back import HOME, back_path
from masthead.faces.reader.member.sessions import ACCOUNT, SIGN_IN, SIGN_UP, session_cookies
from masthead.faces.reader.member.single_sign_on import provider_links
from masthead.faces.reader.member_views import (
    ForgotPage,
    FormProblem,
    InboxPage,
    Newsletter,
    SignInPage,
    SignUpPage,
)
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.site import site_of
from masthead.faces.reader.tiers import offer_of
from masthead.faces.reader.views import Head, Link, MessagePage
from masthead.features.members.collection import blog_members
from masthead.features.members.sign_up import CLOSED, EmailRequest, Purpose
from masthead.features.members.sign_up import Link as MailedLink
from masthead.features.services import FeatureServices
from masthead.identity.accounts import SignedIn
from masthead.identity.sessions import FORGET
from masthead.outside.mail.wording import where_stored

CHOSEN = "newsletter."
"""Before the slug of a newsletter, in the name of its box."""
TRAP = "website"
"""A field that no person sees: what fills it in is a program."""
WRONG_CODE = words(
    "This code is not right, or has expired. Check the digits, or request a new one."
)
WRONG = words("The email address or the password is not right.")


class Joining:
    def __init__(self, services: FeatureServices) -> None:
        self._services = services

    async def sign_up_page(self, request: SiteRequest) -> Page | Redirect:
        _check_open(request)
        back = back_path(request.query.get("back", HOME))
        return see_other(back) if request.member else await _sign_up(request, SignUpPage(back=back))

    async def sign_up(self, request: SiteRequest, form: Form) -> Page | Redirect:
        _check_open(request)
        chosen = tuple(each for each in await _slugs(request) if f"{CHOSEN}{each}" in form)
        newsletter = form.get("newsletter") == "true" or bool(chosen)
        back = back_path(form.get("back", HOME))
        try:
            email = _email(form)
        except FieldError as error:
            problems = (FormProblem("email", error.problem.message),)
            page = SignUpPage(form.get("email", ""), newsletter, back, problems)
            return await _sign_up(request, page, 422, chosen)
        wanted = EmailRequest(
            Purpose.SIGN_UP, email, newsletter, back, chosen, edition=request.edition
        )
        return await self._mail_link(request, form, wanted, "sign_up")

    async def sign_in_page(self, request: SiteRequest) -> Page | Redirect:
        back = back_path(request.query.get("back", HOME))
        if request.member:
            return see_other(back)
        return await self._sign_in_page(request, SignInPage(back=back))

    async def sign_in(self, request: SiteRequest, form: Form) -> Page | Redirect:
        back = back_path(form.get("back", HOME))
        try:
            email = _email(form)
        except FieldError as error:
            problems = (FormProblem("email", error.problem.message),)
            return await self._sign_in_page(
                request, SignInPage(form.get("email", ""), back, problems), 422
            )
        if not form.get("password"):
            wanted = EmailRequest(Purpose.SIGN_IN, email, back=back, edition=request.edition)
            return await self._mail_link(request, form, wanted, "sign_in")
        try:
            signed_in = await self._services.accounts.sign_in(
                blog_members,
                request.tenant_id,
                email,
                form["password"],
                address=request.client.address,
                user_agent=request.client.user_agent,
            )
        except BadRequest:
            problems = (FormProblem("password", WRONG),)
            return await self._sign_in_page(request, SignInPage(email, back, problems), 422)
        return see_other(back, *session_cookies(request, signed_in))

    async def _sign_in_page(
        self, request: SiteRequest, page: SignInPage, status: int = 200
    ) -> Page:
        providers = await provider_links(self._services, request, page.back)
        page = replace(page, providers=providers)
        return Page("sign_in.html", _head(request, words("Sign in")), page, status)

    async def forgot_page(self, request: SiteRequest) -> Page:
        return _forgot(request, ForgotPage(request.member["email"] if request.member else ""))

    async def forgot(self, request: SiteRequest, form: Form) -> Page:
        try:
            email = _email(form)
        except FieldError as error:
            problems = (FormProblem("email", error.problem.message),)
            return _forgot(request, ForgotPage(form.get("email", ""), problems), 422)
        await self._services.passwords.resets.request(
            blog_members, request.tenant_id, email, request.client.address
        )
        return _inbox(request, InboxPage(email, "password"))

    async def link_page(self, request: SiteRequest) -> Page:
        """Mail scanners open every link, so this only shows a button."""
        token = request.query.get("token", "")
        try:
            link = await self._services.members.links.find(request.tenant_id, token)
        except BadRequest as error:
            return _dead_link(request, str(error))
        name = site_of(request).name
        if link.purpose is Purpose.SIGN_UP:
            title, button = words("Join %(site)s?", site=name), words("Confirm and join")
            text: list[str] = [
                words("You join with %(email)s, and are signed in.", email=link.email)
            ]
            if link.has_password:
                text.append(
                    words("Confirm only if you have chosen a password for this account yourself.")
                )
            if link.newsletter:
                text.append(await _what_is_sent(request, link.newsletters))
        elif link.purpose is Purpose.VERIFY:
            title, button = words("Confirm your address?"), words("Confirm this address")
            text = [
                words(
                    "%(email)s is the address of your account at %(site)s. You are signed in.",
                    email=link.email,
                    site=name,
                )
            ]
        else:
            title, button = words("Sign in to %(site)s?", site=name), words("Sign in")
            text = [words("You sign in as %(email)s.", email=link.email)]
        page = MessagePage(title, tuple(text), button, hidden=(("token", token),))
        return _message(request, page)

    async def use_link(self, request: SiteRequest, form: Form) -> Page | Redirect:
        token = form.get("token", "")
        try:
            signed_in, link = await self._services.members.links.use(
                request.tenant_id, token, request.client, language=_chosen_language(request)
            )
        except BadRequest as error:
            return _dead_link(request, str(error))
        return _signed_in(request, signed_in, link)

    async def use_code(self, request: SiteRequest, form: Form) -> Page | Redirect:
        """The code from the email, which was perhaps opened on another device."""
        code_id, code = form.get("code_id", ""), form.get("code", "")
        try:
            signed_in, link = await self._services.members.links.use_code(
                request.tenant_id, code_id, code, request.client, language=_chosen_language(request)
            )
        except (BadRequest, RateLimited) as error:
            wrong = str(error) if isinstance(error, RateLimited) else WRONG_CODE
            kind = "sign_up" if form.get("kind") == "sign_up" else "sign_in"
            back, problems = back_path(form.get("back", HOME)), (FormProblem("code", wrong),)
            page = InboxPage(form.get("email", ""), kind, code_id=code_id, back=back)
            return _inbox(request, replace(page, problems=problems), 422)
        return _signed_in(request, signed_in, link)

    async def sign_out(self, request: SiteRequest, _form: Form) -> Redirect:
        if request.member is not None:
            sign_ins = self._services.accounts.sign_ins
            await sign_ins.end(blog_members, request.member, request.member_sign_in)
        return see_other(HOME, FORGET, *session_cookies(request, None))

    async def _mail_link(
        self, request: SiteRequest, form: Form, wanted: EmailRequest, kind: str
    ) -> Page:
        # What fills in the trap gets the same page, and no email.
        code_id: str = ids.new_id()
        if not form.get(TRAP):
            links, address = self._services.members.links, request.client.address
            code_id = await links.request(request.tenant_id, wanted, address)
        return _inbox(request, InboxPage(wanted.email, kind, code_id=code_id, back=wanted.back))


def _chosen_language(request: SiteRequest) -> str:
    """That of the address; none if it is the site's own."""
    return request.language if request.edition else ""


def _check_open(request: SiteRequest) -> None:
    if not request.site_record["members_enabled"]:
        raise Forbidden(CLOSED)


def _email(form: Form) -> str:
    """Raises FieldError for what is no address."""
    given = form.get("email", "").strip()
    if not given:
        raise FieldError(REQUIRED)
    email: str = blog_members.by_name["email"].check(given)
    return email


def _head(request: SiteRequest, title: str) -> Head:
    return Head(title=f"{title} · {site_of(request).name}", noindex=True)


async def _slugs(request: SiteRequest) -> list[str]:
    return [each["slug"] for each in await newsletters_of(request)]


async def _what_is_sent(request: SiteRequest, chosen: tuple[str, ...]) -> str:
    """The sentence about the emails, after the button was pressed."""
    names = [each["name"] for each in await newsletters_of(request) if each["slug"] in chosen]
    if names:
        sent = listed(names)
        return words("You get %(newsletters)s by email until you turn that off.", newsletters=sent)
    return words("You get new stories by email until you turn that off.")


async def _sign_up(
    request: SiteRequest, page: SignUpPage, status: int = 200, chosen: tuple[str, ...] = ()
) -> Page:
    choices = tuple(
        Newsletter(each["slug"], each["name"], each["description"], each["slug"] in chosen)
        for each in await newsletters_of(request)
    )
    several = choices if len(choices) > 1 else ()
    page = replace(page, offer=await offer_of(request), newsletters=several)
    return Page("sign_up.html", _head(request, words("Join")), page, status)


def _forgot(request: SiteRequest, page: ForgotPage, status: int = 200) -> Page:
    return Page("forgot.html", _head(request, words("A new password")), page, status)


def _inbox(request: SiteRequest, page: InboxPage, status: int = 200) -> Page:
    stored = where_stored(request.services.settings)
    title = words("The email is a file") if stored else words("Check your inbox")
    return Page("inbox.html", _head(request, title), replace(page, stored=stored), status)


def _signed_in(request: SiteRequest, signed_in: SignedIn, link: MailedLink) -> Redirect:
    cookies = session_cookies(request, signed_in)
    if link.purpose is Purpose.SIGN_UP and back_path(link.back) == HOME:
        return see_other(f"{ACCOUNT}?done=joined", *cookies)
    return see_other(back_path(link.back), *cookies)


def _message(request: SiteRequest, page: MessagePage, status: int = 200) -> Page:
    return Page("message.html", _head(request, page.title), page, status)


def _dead_link(request: SiteRequest, sentence: str) -> Page:
    links = [Link(words("Sign in"), request.root + SIGN_IN)]
    if request.site_record["members_enabled"]:
        links.append(Link(words("Join"), request.root + SIGN_UP))
    page = MessagePage(words("This link no longer works"), (sentence,), links=tuple(links))
    return _message(request, page, 400)
