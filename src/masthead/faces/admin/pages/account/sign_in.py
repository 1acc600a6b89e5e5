"""Signing in and out, and the way to a new password."""

from __future__ import annotations

import re
from urllib.parse import quote

from masthead.base.errors import BadRequest, Invalid, MastheadError, RateLimited
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import FieldError
from masthead.faces.admin.endpoint import SIGN_IN, Answer, Page, Redirect, refused_page
from masthead.faces.admin.request import AdminRequest
from masthead.features.single_sign_on.collection import STAFF
from masthead.identity.accounts import SecondStepNeeded
from masthead.identity.passkey_sign_ins import PasskeyForm
from masthead.identity.second_step import TicketExpired
from masthead.identity.sessions import ADMIN_COOKIE, FORGET, end_cookies
from masthead.identity.tenants import superusers
from masthead.outside.mail.wording import where_stored
from masthead.web.cookies import own_cookie
from masthead.web.dot_segments import has_dot_segment
from masthead.web.staff import (
    TICKET_COOKIE,
    given_passkey,
    party_of,
    session_cookies,
    ticket_cookie,
)

# Browsers skip tabs and line breaks, and read a backslash as a slash.
_OURS = re.compile(r"/admin(?:[/?][^\\\x00-\x20\x7f]*)?\Z")
CODE = "/admin/sign-in/code"
WITH = f"{SIGN_IN}/with"
WRONG = words("The email address or the password is wrong.")
WRONG_HERE = words(
    "%(wrong)s If you have accounts at several sites, sign in at the site's own address.",
    wrong=WRONG,
)


async def sign_in_form(request: AdminRequest) -> Answer:
    if request.is_signed_in:
        return Redirect(only_ours(request.query.get("next", "")))
    return await sign_in_page(request, only_ours(request.query.get("next", "")))


async def sign_in(request: AdminRequest) -> Answer:
    email, password = request.form.get("email", ""), request.form.get("password", "")
    onward = only_ours(request.form.get("next", ""))
    context = request.context
    try:
        signed_in = await request.services.staff.sign_in(context, email, password)
    except SecondStepNeeded as needed:
        cookie = ticket_cookie(context, needed.ticket)
        return Redirect(f"{CODE}?next={quote(onward, safe='')}", cookies=(cookie,))
    except RateLimited as error:
        return await sign_in_page(request, onward, email, str(error), error=error)
    except BadRequest as error:
        return await sign_in_page(
            request, onward, email, WRONG if context.tenant else WRONG_HERE, error=error
        )
    return Redirect(onward, cookies=session_cookies(request.context, signed_in))


async def sign_in_with_passkey(request: AdminRequest) -> Answer:
    onward, context = only_ours(request.form.get("next", "")), request.context
    given = given_passkey(request.form) or PasskeyForm("", "")
    try:
        signed_in = await request.services.staff.sign_in_with_passkey(context, given)
    except (BadRequest, RateLimited) as error:
        return await sign_in_page(request, onward, problem=str(error), error=error)
    return Redirect(onward, cookies=session_cookies(context, signed_in))


async def code_form(request: AdminRequest) -> Answer:
    onward = only_ours(request.query.get("next", ""))
    if request.is_signed_in:
        return Redirect(onward)
    ticket = own_cookie(request.scope, TICKET_COOKIE)
    try:
        account = await request.services.staff.second_steps.account_of(
            ticket, request.context.tenant_id
        )
    except TicketExpired:
        return Redirect(f"/admin/sign-in?next={quote(onward, safe='')}")
    return _code_page(request, account, onward)


async def finish_sign_in(request: AdminRequest) -> Answer:
    """With a code, or with a passkey."""
    onward, context = only_ours(request.form.get("next", "")), request.context
    staff, given = request.services.staff, given_passkey(request.form)
    ticket = own_cookie(request.scope, TICKET_COOKIE)
    try:
        account = await staff.second_steps.account_of(ticket, context.tenant_id)
    except TicketExpired as error:
        return await sign_in_page(request, onward, problem=str(error), error=error)
    try:
        if given is not None:
            signed_in = await staff.finish_with_passkey(context, given)
        else:
            signed_in = await staff.finish_sign_in(context, request.form.get("code", ""))
    except (BadRequest, RateLimited) as error:
        return _code_page(request, account, onward, error)
    cookies = (*session_cookies(context, signed_in), ticket_cookie(context, ""))
    return Redirect(onward, cookies=cookies)


async def sign_out(request: AdminRequest) -> Answer:
    sign_ins = request.services.accounts.sign_ins
    await sign_ins.end(superusers, request.account, request.caller.sign_in)
    cookies = end_cookies(ADMIN_COOKIE, secure=request.context.is_https)
    return Redirect(
        "/admin/sign-in", words("You are signed out."), cookies=cookies, headers=(FORGET,)
    )


async def forgot_form(request: AdminRequest) -> Answer:
    return _forgot(request)


async def forgot(request: AdminRequest) -> Answer:
    typed = request.form.get("email", "")
    try:
        email = superusers.by_name["email"].check(typed)
    except FieldError as error:
        refused = Invalid({"email": error.problem}, error.problem.message)
        return _forgot(request, typed, refused)
    try:
        await request.services.passwords.resets.request(
            superusers, request.context.tenant_id, email, request.context.address
        )
    except RateLimited as error:
        return _forgot(request, typed, error)
    stored = where_stored(request.services.settings)
    title = words("The email is a file") if stored else words("Check your inbox")
    return Page("gate/forgot-sent.html", title, {"email": email, "stored": stored})


async def reset_form(request: AdminRequest) -> Answer:
    account = await request.services.passwords.resets.find(
        superusers, request.context.tenant_id, request.query.get("token", "")
    )
    return _reset_page(account)


async def reset(request: AdminRequest) -> Answer:
    resets, context = request.services.passwords.resets, request.context
    token = request.query.get("token", "")
    account = await resets.find(superusers, context.tenant_id, token)
    given = {
        "password": request.form.get("password", ""),
        "passwordConfirm": request.form.get("passwordConfirm", ""),
    }
    try:
        await resets.confirm(superusers, context.tenant_id, token, given, address=context.address)
    except Invalid as error:
        return _reset_page(account, error)
    return Page("gate/reset-done.html", words("Your password is set"), {"email": account["email"]})


def _reset_page(account: Record, error: Invalid | None = None) -> Page:
    """Also for an invited person without a password."""
    problems = error.problems if error else {}
    is_first = not account["password_hash"]
    values = {
        "email": account["email"],
        "is_first": is_first,
        "problems": {name: each.message for name, each in problems.items()},
    }
    title = words("Choose a password") if is_first else words("Choose a new password")
    return Page("gate/reset.html", title, values, status=422 if error else 200)


async def sign_in_page(
    request: AdminRequest,
    onward: str,
    email: str = "",
    problem: str = "",
    *,
    error: MastheadError | None = None,
) -> Page:
    passkey = request.services.staff.passkeys.ask_anyone(party_of(request.context))
    values = {
        "next": onward,
        "email": email,
        "problem": problem,
        "passkey": passkey,
        "providers": await provider_buttons(request, onward),
    }
    return refused_page(
        "gate/sign-in.html",
        words("Sign in to %(site_name)s", site_name=request.site_name),
        values,
        error,
    )


async def provider_buttons(request: AdminRequest, onward: str) -> list[tuple[str, str]]:
    """The name and the address of each provider that staff can sign in with at this host."""
    tenant_id = request.context.tenant_id
    if tenant_id is None:
        return []
    providers = await request.services.single_sign_on.flow.providers(tenant_id, STAFF)
    query = f"?next={quote(onward, safe='')}"
    return [(each["name"], f"{WITH}/{each['slug']}{query}") for each in providers]


def _code_page(
    request: AdminRequest, account: Record, onward: str, error: MastheadError | None = None
) -> Page:
    passkeys = request.services.staff.passkeys
    values = {
        "email": account["email"],
        "next": onward,
        "problem": str(error or ""),
        "has_app": bool(account["totp_secret"]),
        "passkey": passkeys.ask(party_of(request.context), account),
    }
    return refused_page("gate/code.html", words("Second step"), values, error)


def _forgot(request: AdminRequest, email: str = "", error: MastheadError | None = None) -> Page:
    values = {"email": email or request.query.get("email", ""), "problem": str(error or "")}
    return refused_page("gate/forgot.html", words("A new password"), values, error)


def only_ours(url: str) -> str:
    """Only an address of the admin: a link to the sign-in must not lead to another site."""
    is_ours = _OURS.match(url) and not url.startswith("/admin/sign-")
    return url if is_ours and not has_dot_segment(url) else "/admin"
