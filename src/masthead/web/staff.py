"""Staff of a site and operators: who they are, and the site that they work in."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from masthead.base.caller import SITE_STAFF, Kind, guest, in_tenant
from masthead.base.errors import BadRequest, Conflict, MastheadError
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_words
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.identity.accounts import (
    SECOND_STEP,
    Accounts,
    SecondStepNeeded,
    SignedIn,
    session_lifetime,
)
from masthead.identity.directory import Tenant, TenantDirectory
from masthead.identity.hosts import parse_host
from masthead.identity.passkey_sign_ins import PasskeyForm, PasskeySignIns
from masthead.identity.passkeys import Party
from masthead.identity.second_step import SecondSteps, TicketExpired
from masthead.identity.sessions import ADMIN_COOKIE, set_cookies
from masthead.identity.tenants import superusers
from masthead.web.callers import Callers
from masthead.web.cookies import own_cookie, set_own_cookie
from masthead.web.forms import own_origin
from masthead.web.policy import BodyKind, Policy
from masthead.web.request import Request

SITE_COOKIE = "mh_site"
"""The site that an operator has chosen on the service's own host."""
AGAIN_EMAIL = "again_email"
AGAIN_PASSWORD = "again_password"  # noqa: S105  (the name of a field)
AGAIN_CODE = "again_code"
AGAIN = "again_"
AGAIN_PASSKEY = f"{AGAIN}passkey"
AGAIN_CHALLENGE = f"{AGAIN}challenge"
TICKET_COOKIE = "mh_second_step"
"""Between the two steps of a sign-in: the second one is done in the same browser."""
OWNER_HEADER = b"x-page-owner"
"""The header with the owner of the page whose script calls: see `page_owner`."""

_STAFF = SITE_STAFF | {Kind.OPERATOR}


class SignInFailed(MastheadError):
    """While a form waits to be sent again."""


class CodeAsked(SignInFailed):
    """The password was right, and the form goes on waiting for the second factor."""

    def __init__(self, account: Record, problem: str = "") -> None:
        super().__init__(problem)
        self.account = account
        self.problem = problem


class StaffSignIn(msgspec.Struct, frozen=True, kw_only=True):
    records: Records
    accounts: Accounts
    second_steps: SecondSteps
    passkeys: PasskeySignIns
    directory: TenantDirectory
    callers: Callers

    async def identify(self, request: Request) -> None:
        """Sets the request's caller, account and site. One who is not staff is a guest here."""
        request.caller = await self.callers.staff_of(request)
        await self._find_site(request)
        request.is_staff_known = True

    async def sign_in(self, request: Request, email: str, password: str) -> SignedIn:
        client = request.client
        return await self.accounts.sign_in(
            superusers,
            request.tenant_id,
            email,
            password,
            address=client.address,
            user_agent=client.user_agent,
        )

    async def sign_in_with_passkey(self, request: Request, given: PasskeyForm) -> SignedIn:
        """In place of a password."""
        party = party_of(request)
        return await self.passkeys.sign_in(given, party, request.client, request.tenant_id)

    async def finish_with_passkey(self, request: Request, given: PasskeyForm) -> SignedIn:
        """The second step, like `finish_sign_in`."""
        ticket = own_cookie(request.scope, TICKET_COOKIE)
        account = await self.second_steps.account_of(ticket, request.tenant_id)
        return await self.passkeys.finish(
            account, given, party_of(request), request.client, tenant_id=request.tenant_id
        )

    async def finish_sign_in(self, request: Request, code: str) -> SignedIn:
        """The second step, with the ticket that the first one left in this browser."""
        ticket = own_cookie(request.scope, TICKET_COOKIE)
        return await self.second_steps.finish(ticket, code, request.client, request.tenant_id)

    async def sign_in_again(self, request: Request) -> None:
        """For a form whose sender was signed out and sends it again with the password, and then
        with a code if the account needs one; without either, nothing happens."""
        if AGAIN_PASSWORD in request.form:
            signed_in = await self._with_password(request)
        elif AGAIN_CODE in request.form or AGAIN_PASSKEY in request.form:
            signed_in = await self._with_code(request)
        else:
            return
        request.caller = signed_in.caller
        cookies = session_cookies(request, signed_in)
        request.added.extend((b"set-cookie", each.encode()) for each in cookies)
        await self._find_site(request)

    async def _with_password(self, request: Request) -> SignedIn:
        form = dict(request.form)
        email, password = form.pop(AGAIN_EMAIL, ""), form.pop(AGAIN_PASSWORD)
        # With what was typed, which must not be lost.
        request.form = {**form, AGAIN_EMAIL: email}
        try:
            signed_in = await self.sign_in(request, email, password)
        except SecondStepNeeded as error:
            request.added.append((b"set-cookie", ticket_cookie(request, error.ticket).encode()))
            account = await self.second_steps.account_of(error.ticket, request.tenant_id)
            raise CodeAsked(account) from error
        except MastheadError as error:
            raise SignInFailed(str(error)) from error
        request.form = form
        return signed_in

    async def _with_code(self, request: Request) -> SignedIn:
        request.form = form = dict(request.form)
        given, code = given_passkey(form, AGAIN), form.get(AGAIN_CODE, "")
        for name in (AGAIN_CODE, AGAIN_EMAIL, AGAIN_PASSKEY, AGAIN_CHALLENGE):
            form.pop(name, None)
        try:
            ticket = own_cookie(request.scope, TICKET_COOKIE)
            account = await self.second_steps.account_of(ticket, request.tenant_id)
        except TicketExpired as error:
            raise SignInFailed(str(error)) from error
        try:
            if given is not None:
                signed_in = await self.finish_with_passkey(request, given)
            else:
                signed_in = await self.finish_sign_in(request, code)
        except MastheadError as error:
            raise CodeAsked(account, str(error)) from error
        request.added.append((b"set-cookie", ticket_cookie(request, "").encode()))
        return signed_in

    async def _find_site(self, request: Request) -> None:
        caller = request.caller
        if caller is None or caller.kind not in _STAFF:
            caller = guest(request.tenant_id)
        request.site = site = await self._site_of(request, caller.kind, caller.tenant_id)
        if site is not None and caller.kind is Kind.OPERATOR:
            caller = in_tenant(caller, site.id)
        request.caller = caller
        if caller.kind is not Kind.GUEST:
            home = TenantId("") if caller.kind is Kind.OPERATOR else caller.tenant_id
            found = await self.records.find_one(superusers, {"id": caller.id}, tenant_id=home)
            if found:
                request.account = found
            else:
                request.caller = guest(request.tenant_id)

    async def _site_of(
        self, request: Request, kind: Kind, tenant_id: TenantId | None
    ) -> Tenant | None:
        """The host's; on the service's own host the account's, or the one an operator chose."""
        if request.tenant is not None:
            return request.tenant
        if kind is Kind.OPERATOR:
            chosen = own_cookie(request.scope, SITE_COOKIE)
            return await self.directory.by_id(TenantId(chosen)) if chosen else None
        return await self.directory.by_id(tenant_id) if tenant_id else None


def session_cookies(request: Request, signed_in: SignedIn) -> tuple[str, ...]:
    return set_cookies(
        ADMIN_COOKIE,
        signed_in.token,
        lifetime=session_lifetime(superusers),
        secure=request.is_https,
    )


def party_of(request: Request, name: str = "") -> Party:
    """The host that passkeys belong to here, and the origin that a browser must name."""
    host = parse_host(request.header(b"host") or "")
    return Party(host.name.strip("[]"), own_origin(request.scope), name)


def given_passkey(form: Mapping[str, str], prefix: str = "") -> PasskeyForm | None:
    answer = form.get(f"{prefix}passkey", "")
    return PasskeyForm(answer, form.get(f"{prefix}challenge", "")) if answer else None


def ticket_cookie(request: Request, ticket: str) -> str:
    """Without a ticket it ends the cookie."""
    seconds = int(SECOND_STEP.total_seconds()) if ticket else 0
    return set_own_cookie(
        TICKET_COOKIE, ticket, path="/admin", seconds=seconds, is_https=request.is_https
    )


def form_binding(request: Request) -> str:
    """The value that the token of a form is bound to. An operator may have pages of two sites open:
    a form of one must not change the other."""
    assert request.caller is not None
    return f"{request.caller.sign_in} {request.site.id if request.site else ''}"


def page_owner(request: Request) -> str:
    """The site and the account that a page is made for. The editor's script sends it with every
    call and files under it what it stores in the browser."""
    assert request.caller is not None
    return f"{request.site.id if request.site else ''}/{request.caller.id}"


def check_page_owner(request: Request, policy: Policy) -> None:
    """Another tab may have chosen another site or signed in another account since the page was
    made. What was typed there belongs neither to that site nor to that account."""
    made_for = request.header(OWNER_HEADER) or ""
    if made_for == page_owner(request):
        return
    site, _, account = made_for.partition("/")
    if not site or not account:
        raise BadRequest(
            staff_words("The call lacks the site and the account of its page. Open the page again.")
        )
    assert request.caller is not None
    is_upload = policy.body is not None and policy.body.kind is BodyKind.FILES
    if account != request.caller.id:
        raise Conflict(_OTHER_ACCOUNT[is_upload])
    raise Conflict(_OTHER_SITE[is_upload])


_OTHER_ACCOUNT = (
    staff_words(
        "Another account is signed in now. The text stays on this device: sign in with the account "
        "that wrote it, and save again."
    ),
    staff_words(
        "Another account is signed in now. Nothing was uploaded: sign in with the account of this "
        "page, and try again."
    ),
)
_OTHER_SITE = (
    staff_words(
        "Another site is chosen now. The text stays on this device: choose its site again, and "
        "save again."
    ),
    staff_words(
        "Another site is chosen now. Nothing was uploaded: choose the site of this page again, and "
        "try again."
    ),
)
