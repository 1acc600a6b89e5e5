"""The caller's own account: what readers learn of them, their password, and the admin's look."""

from __future__ import annotations

from collections.abc import Container

from masthead.base.caller import Caller, in_tenant
from masthead.base.errors import Invalid, NotFound, Problem, RateLimited
from masthead.base.ids import TenantId
from masthead.base.languages.translators import ADMIN_LANGUAGES
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.forms import Ask, Form, problem_of, sentence_of
from masthead.faces.admin.pages.account.passkeys import short_id
from masthead.faces.admin.request import AdminRequest
from masthead.features.single_sign_on.collection import STAFF
from masthead.features.single_sign_on.links import Connection
from masthead.identity.browsers import browser_name
from masthead.identity.factor_fields import has_second_factor
from masthead.identity.given_passwords import new_credentials
from masthead.identity.passkeys import passkeys_of
from masthead.identity.tenants import superusers
from masthead.web.staff import session_cookies

ADDRESS = "/admin/account"
CONNECT = f"{ADDRESS}/connect"
_FORM = Form(
    superusers,
    (
        Ask("name", words("Name"), words("Shown with your posts.")),
        Ask(
            "bio",
            words("About you"),
            words("A few sentences about you, for your page on the site."),
            rows=4,
        ),
        Ask(
            "picture",
            words("Picture"),
            words(
                "Readers see it with your posts. The address of a picture, or "
                "a path such as /media/…"
            ),
            is_picture=True,
        ),
        Ask(
            "language",
            words("Language"),
            words("The language of these pages. Readers see the language of the site."),
            choices={"": words("What your browser asks for"), **ADMIN_LANGUAGES},
        ),
    ),
)
_WRONG = Problem("validation_invalid_old_password", words("That is not your current password."))


async def end_sign_in(request: AdminRequest, sign_in: str) -> Answer:
    if not await request.services.accounts.sign_ins.end(superusers, request.account, sign_in):
        raise NotFound
    return Redirect(f"{ADDRESS}#sign-ins", words("That browser is signed out."))


async def end_others(request: AdminRequest) -> Answer:
    sign_ins = request.services.accounts.sign_ins
    others = [
        each.id
        for each in await sign_ins.of(superusers, request.account)
        if each.id != request.caller.sign_in
    ]
    for each in others:
        await sign_ins.end(superusers, request.account, each)
    return Redirect(f"{ADDRESS}#sign-ins", words("You are now signed in only here."))


async def save_profile(request: AdminRequest) -> Answer:
    caller = _at_home(request)
    given = _FORM.given(request, caller)
    await request.records.update(caller, superusers, caller.id, given)
    return Redirect(ADDRESS, words("Saved."))


async def change_password(request: AdminRequest) -> Answer:
    """Ends every other sign-in; this browser gets a new one."""
    form, accounts = request.form, request.services.accounts
    caller = _at_home(request)
    try:
        is_right = await accounts.verify_password(
            superusers, request.caller, form.get("old_password", ""), request.context.address
        )
        if not is_right:
            raise Invalid({"old_password": _WRONG})
        given = {
            "password": form.get("new_password", ""),
            "passwordConfirm": form.get("new_again", ""),
        }
        stamped = await new_credentials(given, required=True, email=caller.email)
    except (RateLimited, Invalid) as error:
        names = {"password": "new_password", "passwordConfirm": "new_again"}
        found = (
            error.problems if isinstance(error, Invalid) else {"old_password": problem_of(error)}
        )
        request.problems = {names.get(name, name): each for name, each in found.items()}
        return await account_page(request)
    proved_at = await _proved_at(request)
    record = await request.records.update(caller, superusers, caller.id, {}, stamped=stamped)
    signed_in = await accounts.begin(superusers, record, request.client, proved_at=proved_at)
    cookies = session_cookies(request.context, signed_in)
    return Redirect(
        ADDRESS, words("Your password is changed. You are now signed in only here."), cookies
    )


async def _proved_at(request: AdminRequest) -> str | None:
    """A password proves who it is only where there is no second factor: otherwise the proof of
    this browser stays as old as it is."""
    if not has_second_factor(request.account):
        return None
    sign_ins = request.services.accounts.sign_ins
    return await sign_ins.proved_at(request.account["tenant_id"], request.caller.sign_in)


def _at_home(request: AdminRequest) -> Caller:
    """An operator's account belongs to the platform, wherever they act."""
    home = TenantId("") if request.is_operator else request.tenant_id
    return in_tenant(request.caller, home)


async def account_page(request: AdminRequest) -> Answer:
    caller, connections = _at_home(request), await _connections(request)
    values = {
        "email": request.account["email"],
        **_FORM.values(request, request.account, caller),
        "has_password": bool(request.account["password_hash"]),
        "places": await request.services.accounts.sign_ins.of(superusers, request.account),
        "browser_name": browser_name,
        "here": request.caller.sign_in,
        "has_app": bool(request.account["totp_secret"]),
        "passkeys": [(short_id(each), each) for each in passkeys_of(request.account)],
        "connections": connections,
        "providers": await _connectable(request, {each.provider_id for each in connections}),
        "recovery_codes": len(request.account["recovery_hashes"]),
        "errors": {name: sentence_of(each) for name, each in request.problems.items()},
    }
    return Page("account/account.html", words("Your account"), values)


async def _connections(request: AdminRequest) -> list[Connection]:
    """The providers that sign the account in."""
    if request.is_operator:
        return []
    return await request.services.single_sign_on.staff.connections(
        request.tenant_id, request.account
    )


async def _connectable(request: AdminRequest, connected: Container[str]) -> list[tuple[str, str]]:
    """The name of each other provider and where to connect it, at the site's own host."""
    tenant_id = request.context.tenant_id
    if tenant_id is None or request.is_operator:
        return []
    found = await request.services.single_sign_on.flow.providers(tenant_id, STAFF)
    others = [each for each in found if each["id"] not in connected]
    return [(each["name"], f"{CONNECT}/{each['slug']}") for each in others]
