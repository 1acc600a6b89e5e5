"""PocketBase's endpoints for new passwords, confirmed addresses and new addresses."""

from __future__ import annotations

from typing import Any

from masthead.base.errors import BadRequest, Forbidden, Invalid, Problem, Unauthenticated
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Collection
from masthead.faces.record_api.account_bodies import (
    INVALID,
    AddressConfirmation,
    AddressToken,
    NewPassword,
    account_body,
    blanks,
    refuse_problems,
)
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.sign_in import auth_collection, given_email, site_of
from masthead.features.members.collection import blog_members
from masthead.features.members.sign_up import EmailRequest, Purpose
from masthead.features.password_reset.resets import DeadLink
from masthead.identity.account_callers import account_caller
from masthead.identity.tenants import superusers
from masthead.web.answers import Answer

STAFF_ARE_VERIFIED = "All superusers are verified by default."
STAFF_CHANGE_DIRECTLY = "All superusers can change their emails directly."
WRONG_PASSWORD = Problem("validation_invalid_password", "Missing or invalid auth record password.")
SAME_ADDRESS = Problem("validation_not_in_invalid", "Must be another address than the current one.")


async def request_password_reset(call: Call) -> Answer:
    """204 whether there is such an account or not."""
    collection = auth_collection(call)
    email = given_email(collection, await call.small_json(), "email")
    await call.services.passwords.resets.request(
        collection, call.request.tenant_id, email, call.request.address
    )
    return Answer(204)


async def confirm_password_reset(call: Call) -> Answer:
    collection = auth_collection(call)
    given = await call.small_json()
    problems = blanks(given, NewPassword)
    resets, tenant_id = call.services.passwords.resets, call.request.tenant_id
    try:
        if problems and "token" not in problems:
            await resets.find(collection, tenant_id, given["token"])
        refuse_problems(problems)
        await resets.confirm(
            collection, tenant_id, given["token"], given, address=call.request.address
        )
    except DeadLink as error:
        refuse_problems({**problems, "token": _dead(error)})
    return Answer(204)


async def request_verification(call: Call) -> Answer:
    """204 whether there is such an account or not, and whether it is verified or not."""
    _members_only(auth_collection(call), STAFF_ARE_VERIFIED)
    email = given_email(blog_members, await call.small_json(), "email")
    wanted = EmailRequest(Purpose.VERIFY, email)
    await call.services.members.links.request(site_of(call), wanted, call.request.address)
    return Answer(204)


async def confirm_verification(call: Call) -> Answer:
    """Confirms an address by the token of a verification's email, or of the email to a guest who
    joins."""
    _members_only(auth_collection(call), STAFF_ARE_VERIFIED)
    given = await account_body(call, AddressToken)
    try:
        await call.services.members.links.verify(site_of(call), given.token)
    except BadRequest as error:
        raise Invalid({"token": _dead(error)}, INVALID) from None
    return Answer(204)


async def request_email_change(call: Call) -> Answer:
    """204 whether the new address is taken or not: the email to it says so."""
    collection, caller = auth_collection(call), call.caller
    if not caller.collection:
        raise Unauthenticated
    if caller.collection != collection.name:
        raise Forbidden("Request a new address at the collection of your own account.")
    _members_only(collection, STAFF_CHANGE_DIRECTLY)
    email = given_email(blog_members, await call.small_json(), "newEmail")
    if email == caller.email:
        raise Invalid({"newEmail": SAME_ADDRESS}, INVALID)
    async with call.records.unit(caller) as unit:
        # Through the rule, and without a change.
        member = await unit.update(blog_members, caller.id, {})
        await call.services.members.email_changes.request(unit, member, email)
    return Answer(204)


async def confirm_email_change(call: Call) -> Answer:
    """Changes an address by the token and the account's password; the page of the link needs no
    password."""
    _members_only(auth_collection(call), STAFF_CHANGE_DIRECTLY)
    given = await call.small_json()
    problems = blanks(given, AddressConfirmation)
    if set(problems) == {"token"}:
        problems["password"] = WRONG_PASSWORD
    tenant_id = site_of(call)
    try:
        if "token" not in problems:
            pending = await call.services.members.email_changes.find(tenant_id, given["token"])
            if not problems:
                await _check_password(call, tenant_id, pending.member_id, given["password"])
        refuse_problems(problems)
        await call.services.members.email_changes.confirm(tenant_id, given["token"])
    except BadRequest as error:
        refuse_problems({"password": WRONG_PASSWORD, **problems, "token": _dead(error)})
    return Answer(204)


async def _check_password(call: Call, tenant_id: TenantId, member_id: str, password: Any) -> None:
    found = await call.records.find_one(blog_members, {"id": member_id}, tenant_id=tenant_id)
    accounts, address = call.services.accounts, call.request.address
    if not found or not await accounts.verify_password(
        blog_members, account_caller(blog_members, found), password, address
    ):
        raise Invalid({"password": WRONG_PASSWORD}, INVALID)


def _members_only(collection: Collection, instead: str) -> None:
    if collection is superusers:
        raise BadRequest(instead)


def _dead(error: BadRequest) -> Problem:
    return Problem("validation_invalid_token", str(error))
