"""List, view, create, update and delete on any collection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from masthead import ids
from masthead.caller import Caller, Kind, in_tenant
from masthead.errors import BadRequest, Invalid, NotFound, Problem, StatementTimeout
from masthead.identity.accounts import new_credentials
from masthead.ids import TenantId
from masthead.media.upload import file_field, store_upload
from masthead.members.email_change import new_address
from masthead.record_api.addresses import complete_addresses, with_tenant
from masthead.record_api.call import Call
from masthead.record_api.chunked_answers import PRIVATE, check_size, encode_chunks, send_chunks
from masthead.record_api.parameters import (
    max_answer_bytes,
    parse_list_parameters,
    parse_view_parameters,
)
from masthead.record_api.rendering import render_record, render_records
from masthead.records.collection import Collection, Record
from masthead.records.fields.base import REQUIRED
from masthead.records.fields.relation import missing_relation
from masthead.records.read.page import ListRequest, Page
from masthead.records.write.validation import Add, Remove
from masthead.texts.content import replace_markdown
from masthead.web.answers import Answer, Stream, json_answer
from masthead.web.multipart import Upload, form_to_object, read_form

FORM_OVERHEAD = 1024 * 1024
SMALL_ANSWER = 256 * 1024
"""Characters of long texts; a larger answer is encoded and sent in chunks."""
LARGE_ANSWER = 1024 * 1024
"""Characters of long texts; a larger list counts towards the limit of costly lists."""

WRITTEN = frozenset({"posts", "pages"})
"""The collections whose texts may be sent as Markdown."""


async def list_records(call: Call) -> Answer | Stream:
    collection = call.collection()
    wanted = parse_list_parameters(call.request.query_string, call.caller)
    request = wanted.request
    names = with_tenant(call.caller, collection, request.names)
    if names is not request.names:
        request = replace(request, names=names)
    page = await _limited_page(call, collection, request)
    await complete_addresses(call, call.caller, collection, page.items)
    body = {
        "page": page.page,
        "perPage": page.per_page,
        "totalItems": page.total,
        "totalPages": page.total_pages,
    }
    items = await render_records(collection, page.items, wanted.projection)
    if page.weight <= SMALL_ANSWER and not wanted.request.expand:
        return json_answer(200, {**body, "items": items}, (PRIVATE,))
    if items is not page.items:
        # Frees the whole records before sending to a slow client.
        page.items.clear()
    max_bytes = max_answer_bytes(call.caller)
    chunks = await encode_chunks(body, "items", items, max_bytes)
    return Stream(lambda send: send_chunks(send, chunks))


async def _limited_page(call: Call, collection: Collection, wanted: ListRequest) -> Page:
    """Limits how many lists that are costly, large or empty one network of readers may request."""
    if not call.caller.is_reader:
        return await call.records.page(call.caller, collection, wanted)
    limit, address = call.services.read_limit, call.request.address
    if call.request.query_string:
        # The plain list stays available to readers who share a network with an attacker.
        limit.check(address)
    try:
        page = await call.records.page(call.caller, collection, wanted)
    except (BadRequest, StatementTimeout):
        await limit.count(address)
        raise
    if page.is_costly or page.weight > LARGE_ANSWER or (wanted.filter and not page.items):
        await limit.count(address)
    return page


async def view_record(call: Call) -> Answer:
    collection = call.collection()
    record = await _view(call, collection, call.caller, call.record_id)
    check_size(record, max_answer_bytes(call.caller))
    return json_answer(200, record, (PRIVATE,))


async def create_record(call: Call) -> Answer:
    collection = call.collection()
    call.records.check_may_create(call.caller, collection)
    parse_view_parameters(call.request.query_string)
    takes_files = file_field(collection) is not None
    given, uploads = await _read_body(call, collection, takes_files=takes_files)
    caller = await _in_requested_tenant(call, collection, given)
    try:
        record = await _create(call, caller, collection, given, uploads)
    except Invalid as error:
        raise Invalid(error.problems, "Failed to create record.") from None
    return json_answer(200, await _answer_record(call, collection, caller, record))


async def update_record(call: Call) -> Answer:
    collection = call.collection()
    call.records.check_may_update(call.caller, collection, call.record_id)
    parse_view_parameters(call.request.query_string)
    given, _ = await _read_body(call, collection, takes_files=False)
    try:
        record = await _update(call, collection, given)
    except Invalid as error:
        raise Invalid(error.problems, "Failed to update record.") from None
    return json_answer(200, await _answer_record(call, collection, call.caller, record))


async def delete_record(call: Call) -> Answer:
    await call.records.delete(call.caller, call.collection(), call.record_id)
    return Answer(204)


async def _view(call: Call, collection: Collection, caller: Caller, record_id: str) -> Record:
    wanted = parse_view_parameters(call.request.query_string)
    record = await call.records.get(
        caller,
        collection,
        record_id,
        expand=wanted.expand,
        names=with_tenant(caller, collection, wanted.names),
        max_bytes=max_answer_bytes(caller),
    )
    await complete_addresses(call, caller, collection, [record])
    return await render_record(collection, record, wanted.projection)


async def _answer_record(
    call: Call, collection: Collection, caller: Caller, record: Record
) -> Record:
    """The written record as its caller may read it; only rules and expansions need a query."""
    wanted = parse_view_parameters(call.request.query_string)
    if wanted.expand or not caller.is_admin:
        return await _view(call, collection, caller, record["id"])
    seen = call.records.as_seen_by(caller, collection, record)
    await complete_addresses(call, caller, collection, [seen])
    return await render_record(collection, seen, wanted.projection)


async def _create(
    call: Call,
    caller: Caller,
    collection: Collection,
    given: dict[str, Any],
    uploads: list[Upload],
) -> Record:
    if file_field(collection):
        return await store_upload(call.services, caller, collection, given, uploads)
    given = await _with_text(collection, given)
    stamped = None
    if collection.is_auth:
        stamped = await new_credentials(given, required=collection.platform_records)
    return await call.records.create(caller, collection, given, stamped=stamped)


async def _with_text(collection: Collection, given: dict[str, Any]) -> dict[str, Any]:
    """A text that is sent as Markdown."""
    if collection.name not in WRITTEN:
        return given
    return dict(await replace_markdown(given))


async def _update(call: Call, collection: Collection, given: dict[str, Any]) -> Record:
    given = await _with_text(collection, given)
    stamped = None
    if collection.is_auth and given.get("password"):
        await _check_may_set_password(call, collection, given)
        stamped = await new_credentials(given, required=True)
    if call.caller.kind is Kind.MEMBER:
        return await _update_own(call, collection, given, stamped)
    return await call.records.update(
        call.caller, collection, call.record_id, given, stamped=stamped
    )


async def _check_may_set_password(
    call: Call, collection: Collection, given: dict[str, Any]
) -> None:
    """An administrator may set a member's password; others must send their old one.

    Called before the new password is hashed, because hashing is expensive.
    """
    caller = call.caller
    is_own = caller.id == call.record_id and caller.collection == collection.name
    if not is_own:
        call.records.check_may_update(caller, collection, call.record_id)
        if not caller.is_admin:
            raise NotFound
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


async def _update_own(
    call: Call, collection: Collection, given: dict[str, Any], stamped: Record | None
) -> Record:
    """Changes a member's own account; a new email address must be confirmed first."""
    if call.record_id != call.caller.id:
        raise NotFound
    new_email = new_address(call.caller, given)
    values = {name: value for name, value in given.items() if name != "email"}
    async with call.records.unit(call.caller) as unit:
        record = await unit.update(collection, call.record_id, values, stamped=stamped)
        if new_email:
            await call.services.email_changes.request(unit, record, new_email)
    return record


async def _read_body(
    call: Call, collection: Collection, *, takes_files: bool
) -> tuple[dict[str, Any], list[Upload]]:
    if not call.is_multipart:
        return _with_modifiers(collection, await call.json()), []
    limit = call.max_body
    no_files = ""
    if takes_files:
        limit = call.services.settings.max_upload + FORM_OVERHEAD
    elif file_field(collection):
        no_files = (
            "A file can't be replaced here. Replace it in the media library of the admin, or "
            "upload a new one and delete this one."
        )
    else:
        no_files = "Records of this collection have no files. Send only values."
    request = call.request
    reading = read_form(request.scope, request.receive, limit=limit, no_files=no_files)
    form = await request.resources.enter_async_context(reading)
    return _with_modifiers(collection, form_to_object(form)), form.files


def _with_modifiers(collection: Collection, given: dict[str, Any]) -> dict[str, Any]:
    """Applies PocketBase's `price+` and `tags-`, and its lenient type conversion."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        field = collection.by_name.get(name)
        if field is not None:
            values[name] = field.coerce(value)
        elif name[-1:] in ("+", "-") and name[:-1] in collection.by_name:
            values[name[:-1]] = Add(value) if name.endswith("+") else Remove(value)
        else:
            values[name] = value
    return values


async def _in_requested_tenant(call: Call, collection: Collection, given: dict[str, Any]) -> Caller:
    """`tenant_id` in a body: operators may name any tenant, others only their own."""
    named = given.pop("tenant_id", None)
    caller = call.caller
    if named in (None, "") or named == caller.tenant_id:
        if caller.tenant_id is None and not collection.platform_records:
            raise Invalid({"tenant_id": REQUIRED}, "Failed to create record.")
        return caller
    if caller.kind is Kind.OPERATOR and isinstance(named, str) and ids.is_id(named):
        tenants = call.records.registry["tenants"]
        if await call.records.find(tenants, {"id": named}):
            return in_tenant(caller, TenantId(named))
    unknown = missing_relation("tenants").problem
    raise Invalid({"tenant_id": unknown}, "Failed to create record.")
