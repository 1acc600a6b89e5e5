"""PocketBase's endpoints for signing in, by password or by a code in an email, for refreshing
tokens and for acting as another account."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from masthead.base.caller import Kind, in_tenant
from masthead.base.errors import BadRequest, Forbidden, Invalid, NotFound, Problem, Unauthenticated
from masthead.base.ids import TenantId
from masthead.engine.records.access import NAME_A_TENANT, check_id, refuse_guest
from masthead.engine.records.collection import Collection
from masthead.engine.records.fields.base import REQUIRED, FieldError
from masthead.faces.record_api.account_bodies import (
    INVALID,
    CodeOrSecondStep,
    Credentials,
    FileToken,
    Impersonation,
    RequestedCode,
    account_body,
    refuse_problems,
)
from masthead.faces.record_api.asking_again import check_proof
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.parameters import parse_view_parameters
from masthead.faces.record_api.rendering import apply_projection, render_record
from masthead.features.members.mailed_links import WRONG_CODE
from masthead.features.members.sign_up import EmailRequest, Purpose
from masthead.identity.accounts import SecondStepNeeded, SignedIn, session_lifetime
from masthead.identity.codes import LIFETIME
from masthead.identity.second_step import TicketExpired, WrongCode
from masthead.identity.sessions import ADMIN_COOKIE, MEMBER_COOKIE, set_cookies
from masthead.identity.sign_ins import Client
from masthead.identity.tenants import superusers
from masthead.web.answers import Answer, json_answer
from masthead.web.callers import is_own_request, token_of
from masthead.web.query_string import parse_query_string

MAX_CODE = 71
"""Characters, as in PocketBase."""
MAY_IMPERSONATE = "Only operators can act as any account, and owners as their own members."
STALE_MFA = "Invalid or expired MFA session."
"""As PocketBase."""
METHODS = {
    "password": {"identityFields": ["email"], "enabled": True},
    "oauth2": {"providers": [], "enabled": False},
    "mfa": {"enabled": False, "duration": 0},
    "otp": {"enabled": True, "duration": int(LIFETIME.total_seconds())},
    # What clients before PocketBase 0.23 read.
    "authProviders": [],
    "usernamePassword": False,
    "emailPassword": True,
}


async def auth_with_password(call: Call) -> Answer:
    return await _sign_in(call, auth_collection(call), with_admin=False)


async def admin_auth_with_password(call: Call) -> Answer:
    """PocketBase's endpoint before 0.23; its clients read `admin` instead of `record`."""
    return await _sign_in(call, superusers, with_admin=True)


async def auth_refresh(call: Call) -> Answer:
    return await _refresh(call, auth_collection(call), with_admin=False)


async def admin_auth_refresh(call: Call) -> Answer:
    return await _refresh(call, superusers, with_admin=True)


async def auth_methods(call: Call) -> Answer:
    auth_collection(call)
    return json_answer(200, METHODS)


async def request_otp(call: Call) -> Answer:
    """An id whether there is such an account or not."""
    collection = auth_collection(call)
    email = given_email(collection, await call.small_json(), "email")
    tenant_id, address = call.request.tenant_id, call.request.address
    if collection is superusers:
        code_id = await call.services.passwords.staff_codes.request(tenant_id, email, address)
    else:
        wanted = EmailRequest(Purpose.SIGN_IN, email)
        code_id = await call.services.members.links.request(site_of(call), wanted, address)
    return json_answer(200, RequestedCode(code_id))


async def auth_with_otp(call: Call) -> Answer:
    collection = auth_collection(call)
    given = await account_body(call, CodeOrSecondStep)
    code_id, code = given.otp_id, given.password
    if len(code) > MAX_CODE:
        message = f"The length must be between 1 and {MAX_CODE}."
        params: dict[str, object] = {"min": 1, "max": MAX_CODE}
        raise Invalid(
            {"password": Problem("validation_length_out_of_range", message, params)}, INVALID
        )
    client = Client(call.request.address, _user_agent(call))
    if collection is superusers and (mfa_id := _mfa_id(call, given)):
        signed_in = await _finish(call, mfa_id, code, client)
        return await _answer(call, collection, signed_in, with_admin=False)
    try:
        if collection is superusers:
            signed_in = await call.services.passwords.staff_codes.use(
                call.request.tenant_id, code_id, code, client
            )
        else:
            signed_in, _ = await call.services.members.links.use_code(
                site_of(call), code_id, code, client
            )
    except SecondStepNeeded as needed:
        return _needs_second_step(needed)
    return await _answer(call, collection, signed_in, with_admin=False)


def _mfa_id(call: Call, given: CodeOrSecondStep) -> str:
    """In the body or the query, as in PocketBase: its JavaScript client sends the query."""
    query = parse_query_string(call.request.query_string, "utf-8")
    return given.mfa_id or query.get("mfaId", "")


async def _finish(call: Call, mfa_id: str, code: str, client: Client) -> SignedIn:
    """The second step: a code of the account's app, or one of its recovery codes."""
    steps = call.services.staff.second_steps
    try:
        return await steps.finish_once(mfa_id, code, client, call.request.tenant_id)
    except TicketExpired as error:
        raise BadRequest(STALE_MFA) from error
    except WrongCode as error:
        raise BadRequest(WRONG_CODE) from error


async def auth_with_oauth2(call: Call) -> Answer:
    auth_collection(call)
    raise Forbidden("The collection is not configured to allow OAuth2 authentication.")


async def impersonate(call: Call) -> Answer:
    """A session of another account that ends by itself: for operators, and for owners of their own
    members."""
    caller = call.caller
    refuse_guest(caller)
    if caller.kind not in (Kind.OPERATOR, Kind.OWNER):
        raise Forbidden(MAY_IMPERSONATE)
    collection = auth_collection(call)
    if caller.kind is Kind.OWNER and collection is superusers:
        raise Forbidden(MAY_IMPERSONATE)
    check_id(call.record_id)
    # It is a session whose proof is new.
    await check_proof(call)
    found = await call.records.find(
        collection, {"id": call.record_id}, tenant_id=caller.tenant_id, limit=2
    )
    if len(found) > 1:
        raise BadRequest(NAME_A_TENANT)
    if not found or not found[0]["token_key"]:
        raise NotFound
    lifetime = _impersonation(await account_body(call, Impersonation), session_lifetime(collection))
    signed_in = await call.services.accounts.impersonate(caller, collection, found[0], lifetime)
    return await _answer(call, collection, signed_in, with_admin=False)


def _impersonation(given: Impersonation, longest: timedelta) -> timedelta:
    """At most as long as a sign-in."""
    if given.duration < 0:
        low = Problem(
            "validation_min_greater_equal_than_required",
            "Must be no less than 0.",
            {"threshold": 0},
        )
        raise Invalid({"duration": low}, INVALID)
    limit = int(longest.total_seconds())
    return timedelta(seconds=min(given.duration or limit, limit))


async def file_token(call: Call) -> Answer:
    collection = call.records.registry.find(call.caller.collection)
    token = await call.services.accounts.file_token(collection, call.caller) if collection else None
    if token is None:
        raise Unauthenticated
    return json_answer(200, FileToken(token))


async def _sign_in(call: Call, collection: Collection, *, with_admin: bool) -> Answer:
    given = await account_body(call, Credentials)
    try:
        signed_in = await call.services.accounts.sign_in(
            collection,
            call.request.tenant_id,
            given.identity,
            given.password,
            address=call.request.address,
            user_agent=_user_agent(call),
        )
    except SecondStepNeeded as needed:
        return _needs_second_step(needed)
    return await _answer(call, collection, signed_in, with_admin=with_admin)


def _needs_second_step(needed: SecondStepNeeded) -> Answer:
    """As PocketBase answers; its clients look for `mfaId`."""
    body = {"mfaId": needed.ticket, "message": str(needed)}
    return json_answer(401, body, [(b"cache-control", b"no-store")])


def given_email(collection: Collection, given: dict[str, Any], name: str) -> str:
    try:
        email: str = collection.by_name["email"].check(given.get(name))
    except FieldError as error:
        raise Invalid({name: error.problem}, INVALID) from None
    refuse_problems({} if email else {name: REQUIRED})
    return email


def site_of(call: Call) -> TenantId:
    """The site of members, who have no account on the service's own host."""
    if call.request.tenant_id is None:
        raise BadRequest(NAME_A_TENANT)
    return call.request.tenant_id


async def _refresh(call: Call, collection: Collection, *, with_admin: bool) -> Answer:
    client = Client(call.request.address, _user_agent(call))
    signed_in = await call.services.accounts.refresh(collection, call.caller, client)
    if not call.caller.is_renewable and call.caller.collection == collection.name:
        # As in PocketBase, the same token again.
        token = token_of(call.request.scope)
        signed_in = SignedIn(token, call.caller) if token else None
    if signed_in is None:
        if call.caller.collection not in ("", collection.name):
            raise Forbidden("Refresh this session at the collection of its account.")
        raise Unauthenticated
    return await _answer(call, collection, signed_in, with_admin=with_admin)


async def _answer(
    call: Call,
    collection: Collection,
    signed_in: SignedIn,
    *,
    with_admin: bool,
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
    if signed_in.caller.is_renewable and is_own_request(call.request.scope):
        cookies = _cookies(call, collection, signed_in)
        headers += [(b"set-cookie", each.encode()) for each in cookies]
    return json_answer(200, body, headers)


def _user_agent(call: Call) -> str:
    return call.request.header(b"user-agent") or ""


def _cookies(call: Call, collection: Collection, signed_in: SignedIn) -> tuple[str, ...]:
    return set_cookies(
        ADMIN_COOKIE if collection is superusers else MEMBER_COOKIE,
        signed_in.token,
        lifetime=session_lifetime(collection),
        secure=call.request.is_https,
    )


def auth_collection(call: Call) -> Collection:
    collection = call.collection()
    if not collection.is_auth:
        raise NotFound("This collection has no accounts.")
    return collection
