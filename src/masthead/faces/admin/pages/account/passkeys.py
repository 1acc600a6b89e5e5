"""The caller's own passkeys."""

from __future__ import annotations

import hashlib

from masthead.base import clock
from masthead.base.errors import BadRequest, MastheadError, NotFound, RateLimited
from masthead.base.languages.words import words
from masthead.faces.admin.endpoint import Answer, Page, Redirect
from masthead.faces.admin.pages.account.proof import ask_for_proof, codes_page, prove
from masthead.faces.admin.request import AdminRequest
from masthead.identity.passkeys import (
    Passkey,
    creation_options,
    new_name,
    passkeys_of,
    read_answer,
    verify_new,
)
from masthead.web.staff import party_of

ADDRESS = "/admin/account/passkeys"
_SECTION = "/admin/account#second-factor"


async def add(request: AdminRequest) -> Answer:
    challenges, form = request.services.staff.passkeys.challenges, request.form
    party = party_of(request.context, request.site_name)
    name = new_name(form.get("name", ""), passkeys_of(request.account))
    try:
        challenge = await challenges.take(form.get("challenge", ""), _bound_to(request))
        answer = read_answer(form.get("passkey", ""))
        now = clock.to_text(request.records.clock())
        passkey = await verify_new(answer, party, challenge, name=name, now=now)
        codes = await request.services.factors.add_passkey(request.caller, request.account, passkey)
    except BadRequest as error:
        return await new_form(request, error)
    if not codes:
        return Redirect(_SECTION, words("The passkey “%(name)s” is added.", name=name))
    return codes_page(codes, words("The passkey is added. Keep these codes in case you lose it"))


async def remove_form(request: AdminRequest, passkey_id: str) -> Answer:
    return _remove_page(request, _find(request, passkey_id))


async def remove(request: AdminRequest, passkey_id: str) -> Answer:
    passkey = _find(request, passkey_id)
    try:
        await prove(request)
    except (BadRequest, RateLimited) as error:
        return _remove_page(request, passkey, error)
    await request.services.factors.remove_passkey(request.caller, request.account, passkey)
    return Redirect(_SECTION, words("The passkey “%(name)s” is removed.", name=passkey.name))


def short_id(passkey: Passkey) -> str:
    """For addresses: the id of a passkey can be long."""
    return hashlib.sha256(passkey.id.encode()).hexdigest()[:20]


def _find(request: AdminRequest, passkey_id: str) -> Passkey:
    for each in passkeys_of(request.account):
        if short_id(each) == passkey_id:
            return each
    raise NotFound


def _bound_to(request: AdminRequest) -> str:
    return f"new passkey of {request.caller.sign_in}"


async def new_form(request: AdminRequest, error: MastheadError | None = None) -> Answer:
    party = party_of(request.context, request.site_name)
    challenge = request.services.staff.passkeys.challenges.new(_bound_to(request))
    values = {
        "options": creation_options(request.account, party, challenge.value),
        "sealed": challenge.sealed,
        "host": party.host,
        "name": request.form.get("name", ""),
        "problem": str(error or ""),
    }
    return Page("account/passkey.html", words("Add a passkey"), values, 422 if error else 200)


def _remove_page(
    request: AdminRequest, passkey: Passkey, error: MastheadError | None = None
) -> Page:
    values = {
        "action": f"{ADDRESS}/{short_id(passkey)}/remove",
        "text": words("Your device may still offer it, but it will no longer work here."),
        "verb": words("Remove the passkey"),
        "busy": words("Removing…"),
    }
    return ask_for_proof(
        request, words("Remove the passkey “%(name)s”?", name=passkey.name), values, error
    )
