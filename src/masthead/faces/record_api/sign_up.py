"""A guest who joins a site through the record store.

Nothing is stored before the link in the email is opened. So the answer is the same whether or not
the address has an account: the record as it will be, with an id that is only used if it has none.
"""

from __future__ import annotations

from typing import Any

from masthead.base import clock, ids
from masthead.base.errors import Forbidden, Invalid, Problem
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.base import Access
from masthead.engine.records.write.validation import check_new
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.parameters import parse_view_parameters
from masthead.faces.record_api.rendering import render_record
from masthead.faces.record_api.sign_in import site_of
from masthead.features.members.collection import blog_members
from masthead.features.members.sign_up import CLOSED, EmailRequest, Purpose
from masthead.features.site.collection import site_settings
from masthead.features.site.record_view import as_settings
from masthead.identity import passwords
from masthead.identity.given_passwords import checked_password
from masthead.web.answers import Answer, json_answer

NOT_CREATED = "Failed to create record."
TAKEN = frozenset({"name", "newsletter"})
"""The fields that count, besides the address and the password."""


async def sign_up(call: Call) -> Answer:
    tenant_id = site_of(call)
    wanted = parse_view_parameters(call.request.query_string)
    await _check_open(call, tenant_id)
    given = await call.small_json()
    try:
        record, password = _check(given)
    except Invalid as error:
        raise Invalid(error.problems, NOT_CREATED) from None
    now = clock.to_text(call.records.clock())
    record |= {"id": ids.new_id(), "tenant_id": tenant_id, "created": now, "updated": now}
    links = call.services.members.links
    # Before the password is hashed, because hashing is expensive.
    if await links.admit(tenant_id, record["email"], call.request.address):
        await links.queue(tenant_id, await _request(record, password))
    names = blog_members.readable(Access.MEMBER)
    seen = {name: record[name] for name in names if name in record}
    return json_answer(200, await render_record(blog_members, seen, wanted.projection))


async def _check_open(call: Call, tenant_id: TenantId) -> None:
    found = await call.records.find_one(site_settings, {}, tenant_id=tenant_id)
    site = as_settings(found) if found else None
    if site is None or not site["members_enabled"]:
        raise Forbidden(CLOSED)
    if site["read_only_mode"] or site["deleted_at"]:
        raise Forbidden(CLOSED)


def _check(given: dict[str, Any]) -> tuple[Record, str]:
    """The member to be, and the password. Fields that a new member can't set are ignored."""
    problems: dict[str, Problem] = {}
    record: Record = {}
    password = ""
    values = {
        name: blog_members.by_name[name].coerce(given[name])
        for name in (*TAKEN, "email")
        if name in given
    }
    try:
        record, _ = check_new(blog_members, values, Access.ADMIN)
    except Invalid as error:
        problems |= error.problems
    try:
        password = checked_password({"passwordConfirm": "", **given})
    except Invalid as error:
        problems |= error.problems
    if problems:
        raise Invalid(problems)
    return record, password


async def _request(record: Record, password: str) -> EmailRequest:
    details = {
        "id": record["id"],
        "name": record["name"],
        "password_hash": await passwords.hash_password(password),
    }
    newsletter = bool(record["newsletter"])
    return EmailRequest(Purpose.SIGN_UP, record["email"], newsletter, details=details)
