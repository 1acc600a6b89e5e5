"""Create, update and delete on any collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from masthead.base import ids
from masthead.base.caller import Caller, Kind, in_tenant
from masthead.base.errors import Invalid, NotFound, Problem
from masthead.base.ids import TenantId
from masthead.content.texts.content import replace_markdown
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.fields.base import REQUIRED
from masthead.engine.records.fields.relation import missing_relation
from masthead.engine.records.write.unit import Unit
from masthead.engine.records.write.validation import Add, Remove
from masthead.faces.record_api.addresses import complete_addresses
from masthead.faces.record_api.asking_again import (
    check_creation,
    check_deletion,
    check_proof,
    check_update,
)
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.parameters import parse_view_parameters
from masthead.faces.record_api.records import read_record
from masthead.faces.record_api.rendering import render_record
from masthead.faces.record_api.sign_up import sign_up
from masthead.features.media.upload import file_field, store_upload
from masthead.features.members.collection import blog_members
from masthead.features.members.email_change import new_address
from masthead.identity.given_passwords import new_credentials
from masthead.identity.tenants import superusers
from masthead.web.answers import Answer, json_answer
from masthead.web.multipart import Upload, form_to_object, read_form

FORM_OVERHEAD = 1024 * 1024

WRITTEN = frozenset({"posts", "pages"})
"""The collections whose texts may be sent as Markdown."""

NOT_CREATED = "Failed to create record."
NOT_UPDATED = "Failed to update record."


class Values(NamedTuple):
    """The values that a change writes: those that were sent, and those that only our code may
    set."""

    given: Mapping[str, Any]
    stamped: Mapping[str, Any] | None = None


async def create_record(call: Call) -> Answer:
    collection = call.collection()
    if collection is blog_members and call.caller.kind is Kind.GUEST:
        return await sign_up(call)
    call.records.check_may_create(call.caller, collection)
    await check_creation(call, collection)
    parse_view_parameters(call.request.query_string)
    takes_files = file_field(collection) is not None
    given, uploads = await _read_body(call, collection, takes_files=takes_files)
    caller = await in_requested_tenant(call, collection, given)
    try:
        record = await _create(call, caller, collection, given, uploads=uploads)
    except Invalid as error:
        raise Invalid(error.problems, NOT_CREATED) from None
    return json_answer(200, await read_written(call, collection, caller, record))


async def update_record(call: Call) -> Answer:
    collection = call.collection()
    call.records.check_may_update(call.caller, collection, call.record_id)
    parse_view_parameters(call.request.query_string)
    given, _ = await _read_body(call, collection, takes_files=False)
    await check_update(call, collection, given)
    try:
        record = await _update(call, collection, given)
    except Invalid as error:
        raise Invalid(error.problems, NOT_UPDATED) from None
    return json_answer(200, await read_written(call, collection, call.caller, record))


async def delete_record(call: Call) -> Answer:
    collection = call.collection()
    await check_deletion(call, collection)
    await call.records.delete(call.caller, collection, call.record_id)
    return Answer(204)


async def read_written(
    call: Call, collection: Collection, caller: Caller, record: Record
) -> Record:
    """The written record as its caller may read it; only rules and expansions need a query."""
    wanted = parse_view_parameters(call.request.query_string)
    if wanted.expand or not caller.is_admin:
        return await read_record(call, collection, caller, record["id"])
    seen = call.records.as_seen_by(caller, collection, record)
    await complete_addresses(call.services, caller, collection, [seen])
    return await render_record(collection, seen, wanted.projection)


async def _create(
    call: Call,
    caller: Caller,
    collection: Collection,
    given: dict[str, Any],
    *,
    uploads: list[Upload],
) -> Record:
    if file_field(collection):
        return await store_upload(call.services, caller, collection, given, uploads=uploads)
    values = await values_to_create(collection, given)
    return await call.records.create(caller, collection, values.given, stamped=values.stamped)


async def _update(call: Call, collection: Collection, given: dict[str, Any]) -> Record:
    values = await values_to_update(call, collection, given)
    if call.caller.kind is not Kind.MEMBER:
        return await call.records.update(
            call.caller, collection, call.record_id, values.given, stamped=values.stamped
        )
    async with call.records.unit(call.caller) as unit:
        return await update_own(call, unit, collection, values)


async def values_to_create(collection: Collection, given: dict[str, Any]) -> Values:
    given = await _with_text(collection, given)
    if not collection.is_auth:
        return Values(given)
    return Values(given, await new_credentials(given, required=collection.platform_records))


async def values_to_update(call: Call, collection: Collection, given: dict[str, Any]) -> Values:
    given = await _with_text(collection, given)
    if not collection.is_auth or not given.get("password"):
        return Values(given)
    await _check_may_set_password(call, collection, given)
    email = await _email_of_account(call, collection)
    return Values(given, await new_credentials(given, required=True, email=email))


async def _email_of_account(call: Call, collection: Collection) -> str:
    if _is_own(call, collection):
        return call.caller.email
    account = await call.records.find_one(
        collection, {"id": call.record_id}, tenant_id=call.caller.tenant_id
    )
    return account["email"] if account else ""


def _is_own(call: Call, collection: Collection) -> bool:
    return call.caller.id == call.record_id and call.caller.collection == collection.name


async def _with_text(collection: Collection, given: dict[str, Any]) -> dict[str, Any]:
    """A text that is sent as Markdown."""
    if collection.name not in WRITTEN:
        return given
    return dict(await replace_markdown(given))


async def _check_may_set_password(
    call: Call, collection: Collection, given: dict[str, Any]
) -> None:
    """An administrator may set a member's password; others must send their old one.

    Called before the new password is hashed, because hashing is expensive.
    """
    caller = call.caller
    if not _is_own(call, collection):
        call.records.check_may_update(caller, collection, call.record_id)
        if not caller.is_admin:
            raise NotFound
        if collection is superusers:
            await check_proof(call)
        return
    old = given.get("oldPassword")
    if not isinstance(old, str) or not old:
        raise Invalid({"oldPassword": REQUIRED})
    accounts, address = call.services.accounts, call.request.address
    if not await accounts.verify_password(collection, caller, old, address):
        wrong = Problem(
            "validation_invalid_old_password", "Must be the account's current password."
        )
        raise Invalid({"oldPassword": wrong})


async def update_own(call: Call, unit: Unit, collection: Collection, values: Values) -> Record:
    """Changes a member's own account; a new email address must be confirmed first."""
    if call.record_id != call.caller.id:
        raise NotFound
    new_email = new_address(call.caller, values.given)
    others = {name: value for name, value in values.given.items() if name != "email"}
    record = await unit.update(collection, call.record_id, others, stamped=values.stamped)
    if new_email:
        await call.services.members.email_changes.request(unit, record, new_email)
    return record


async def _read_body(
    call: Call, collection: Collection, *, takes_files: bool
) -> tuple[dict[str, Any], list[Upload]]:
    if not call.is_multipart:
        return with_modifiers(collection, await call.json()), []
    limit = call.request.max_body
    if takes_files:
        limit = call.services.settings.max_upload + FORM_OVERHEAD
    no_files = "" if takes_files else why_no_files(collection)
    request = call.request
    reading = read_form(request.scope, request.receive, limit=limit, no_files=no_files)
    form = await request.resources.enter_async_context(reading)
    return with_modifiers(collection, form_to_object(form)), form.files


def why_no_files(collection: Collection) -> str:
    """For a request that brings a file where none is taken."""
    if file_field(collection):
        return (
            "A file can't be replaced here. Replace it in the media library of the admin, or "
            "upload a new one and delete this one."
        )
    return "Records of this collection have no files. Send only values."


def with_modifiers(collection: Collection, given: Mapping[str, Any]) -> dict[str, Any]:
    """Applies PocketBase's `price+`, `+tags` and `tags-`, and its lenient type conversion."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        field = collection.by_name.get(name)
        if field is not None:
            values[name] = field.coerce(value)
        elif name[-1:] in ("+", "-") and name[:-1] in collection.by_name:
            values[name[:-1]] = Add(value) if name.endswith("+") else Remove(value)
        elif name[:1] == "+" and name[1:] in collection.by_name:
            values[name[1:]] = Add(value, at_start=True)
        else:
            values[name] = value
    return values


async def in_requested_tenant(call: Call, collection: Collection, given: dict[str, Any]) -> Caller:
    """`tenant_id` in a body: operators may name any tenant, others only their own."""
    named = given.pop("tenant_id", None)
    caller = call.caller
    if named in (None, "") or named == caller.tenant_id:
        if caller.tenant_id is None and not collection.platform_records:
            raise Invalid({"tenant_id": REQUIRED}, NOT_CREATED)
        return caller
    if (
        caller.kind is Kind.OPERATOR
        and isinstance(named, str)
        and ids.is_id(named)
        # In memory: right after a commit, a read finds SQLite's page cache empty.
        and await call.services.directory.by_id(named)
    ):
        return in_tenant(caller, TenantId(named))
    unknown = missing_relation("tenants").problem
    raise Invalid({"tenant_id": unknown}, NOT_CREATED)
