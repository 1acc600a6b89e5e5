"""PocketBase's endpoints for signing in, refreshing tokens and resetting passwords."""

from __future__ import annotations

from typing import Any

from masthead.caller import in_tenant
from masthead.errors import Forbidden, Invalid, NotFound, Problem, Unauthenticated
from masthead.identity.accounts import SecondStepNeeded, SignedIn, session_lifetime
from masthead.identity.sessions import ADMIN_COOKIE, MEMBER_COOKIE, set_cookie
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import superusers
from masthead.ids import TenantId
from masthead.password_reset.resets import DeadLink
from masthead.record_api.call import Call
from masthead.record_api.parameters import parse_view_parameters
from masthead.record_api.rendering import apply_projection, render_record
from masthead.records.collection import Collection
from masthead.records.fields.base import REQUIRED, FieldError
from masthead.web.answers import Answer, json_answer
from masthead.web.callers import is_own_request

INVALID = "An error occurred while validating the submitted data."


async def auth_with_password(call: Call) -> Answer:
    return await _sign_in(call, _auth_collection(call), with_admin=False)


async def admin_auth_with_password(call: Call) -> Answer:
    """PocketBase's endpoint before 0.23; its clients read `admin` instead of `record`."""
    return await _sign_in(call, superusers, with_admin=True)


async def auth_refresh(call: Call) -> Answer:
    return await _refresh(call, _auth_collection(call), with_admin=False)


async def admin_auth_refresh(call: Call) -> Answer:
    return await _refresh(call, superusers, with_admin=True)


async def auth_methods(call: Call) -> Answer:
    _auth_collection(call)
    body = {
        "password": {"identityFields": ["email"], "enabled": True},
        "oauth2": {"providers": [], "enabled": False},
        "mfa": {"enabled": False, "duration": 0},
        "otp": {"enabled": False, "duration": 0},
    }
    return json_answer(200, body)


async def request_password_reset(call: Call) -> Answer:
    """204 whether there is such an account or not."""
    collection = _auth_collection(call)
    given = await call.small_json()
    try:
        email: str = collection.by_name["email"].check(given.get("email"))
    except FieldError as error:
        raise Invalid({"email": error.problem}, INVALID) from None
    if not email:
        raise Invalid({"email": REQUIRED}, INVALID)
    await call.services.resets.request(
        collection, call.request.tenant_id, email, call.request.address
    )
    return Answer(204)


async def confirm_password_reset(call: Call) -> Answer:
    collection = _auth_collection(call)
    given = await call.small_json()
    _refuse_blanks(given, "token", "password", "passwordConfirm")
    try:
        await call.services.resets.confirm(
            collection, call.request.tenant_id, given["token"], given, address=call.request.address
        )
    except DeadLink as error:
        raise Invalid({"token": Problem("validation_invalid_token", str(error))}, INVALID) from None
    return Answer(204)


async def file_token(call: Call) -> Answer:
    collection = call.records.registry.find(call.caller.collection)
    token = await call.services.accounts.file_token(collection, call.caller) if collection else None
    if token is None:
        raise Unauthenticated
    return json_answer(200, {"token": token})


async def _sign_in(call: Call, collection: Collection, *, with_admin: bool) -> Answer:
    given = await call.small_json()
    _refuse_blanks(given, "identity", "password")
    try:
        signed_in = await call.services.accounts.sign_in(
            collection,
            call.request.tenant_id,
            given["identity"],
            given["password"],
            address=call.request.address,
            user_agent=_user_agent(call),
        )
    except SecondStepNeeded as needed:
        # As PocketBase answers; its clients look for `mfaId`.
        body = {"mfaId": needed.ticket, "message": str(needed)}
        return json_answer(401, body, [(b"cache-control", b"no-store")])
    return await _answer(call, collection, signed_in, with_admin=with_admin)


def _refuse_blanks(given: dict[str, Any], *names: str) -> None:
    """Names all the missing ones at once."""
    texts = {name: given.get(name) for name in names}
    blank = {
        name: REQUIRED for name, text in texts.items() if not isinstance(text, str) or not text
    }
    if blank:
        raise Invalid(blank, INVALID)


async def _refresh(call: Call, collection: Collection, *, with_admin: bool) -> Answer:
    client = Client(call.request.address, _user_agent(call))
    signed_in = await call.services.accounts.refresh(collection, call.caller, client)
    if signed_in is None:
        if call.caller.collection not in ("", collection.name):
            raise Forbidden("Refresh this session at the collection of its account.")
        raise Unauthenticated
    return await _answer(call, collection, signed_in, with_admin=with_admin)


async def _answer(
    call: Call, collection: Collection, signed_in: SignedIn, *, with_admin: bool
) -> Answer:
    wanted = parse_view_parameters(call.request.query_string)
    caller = signed_in.caller
    if caller.tenant_id is None:
        # An operator's account belongs to the platform; a tenant may have the same id.
        caller = in_tenant(caller, TenantId(""))
    record = await call.records.get(caller, collection, caller.id, expand=wanted.expand)
    record = await render_record(collection, record, None)
    body: dict[str, Any] = {"token": signed_in.token, "record": record}
    if with_admin:
        body["admin"] = record
    if wanted.projection:
        (body,) = await apply_projection([body], wanted.projection)
    headers = [(b"cache-control", b"no-store")]
    if is_own_request(call.request.scope):
        headers.append((b"set-cookie", _cookie(call, collection, signed_in).encode()))
    return json_answer(200, body, headers)


def _user_agent(call: Call) -> str:
    return call.request.header(b"user-agent") or ""


def _cookie(call: Call, collection: Collection, signed_in: SignedIn) -> str:
    return set_cookie(
        ADMIN_COOKIE if collection is superusers else MEMBER_COOKIE,
        signed_in.token,
        lifetime=session_lifetime(collection),
        secure=call.request.is_https,
    )


def _auth_collection(call: Call) -> Collection:
    collection = call.collection()
    if not collection.is_auth:
        raise NotFound("This collection has no accounts.")
    return collection
