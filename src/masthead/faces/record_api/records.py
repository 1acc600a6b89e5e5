"""List and view on any collection."""

from __future__ import annotations

from msgspec.structs import replace

from masthead.base.caller import Caller
from masthead.base.errors import BadRequest, StatementTimeout
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.read.page import ListRequest, Page
from masthead.faces.record_api.addresses import complete_addresses, with_tenant
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.chunked_answers import (
    PRIVATE,
    check_size,
    encode_chunks,
    send_chunks,
)
from masthead.faces.record_api.guest_answers import is_repeatable
from masthead.faces.record_api.parameters import (
    max_answer_bytes,
    parse_list_parameters,
    parse_view_parameters,
)
from masthead.faces.record_api.rendering import render_record, render_records
from masthead.web.answers import Answer, Stream, json_answer

SMALL_ANSWER = 256 * 1024
"""Characters of long texts; a larger answer is encoded and sent in chunks."""
LARGE_ANSWER = 1024 * 1024
"""Characters of long texts; a larger list counts towards the limit of costly lists."""


async def list_records(call: Call) -> Answer | Stream:
    collection = call.collection()
    wanted = parse_list_parameters(call.request.query_string, call.caller)
    request = wanted.request
    names = with_tenant(call.caller, collection, request.names)
    if names is not request.names:
        request = replace(request, names=names)
    page = await _read_limited_page(call, collection, request)
    await complete_addresses(call.services, call.caller, collection, page.items)
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


async def _read_limited_page(call: Call, collection: Collection, wanted: ListRequest) -> Page:
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
    else:
        # A list that counts must be read each time.
        call.is_repeatable = is_repeatable(wanted)
    return page


async def view_record(call: Call) -> Answer:
    collection = call.collection()
    record = await read_record(call, collection, call.caller, call.record_id)
    check_size(record, max_answer_bytes(call.caller))
    call.is_repeatable = not parse_view_parameters(call.request.query_string).expand
    return json_answer(200, record, (PRIVATE,))


async def read_record(call: Call, collection: Collection, caller: Caller, record_id: str) -> Record:
    wanted = parse_view_parameters(call.request.query_string)
    record = await call.records.get(
        caller,
        collection,
        record_id,
        expand=wanted.expand,
        names=with_tenant(caller, collection, wanted.names),
        max_bytes=max_answer_bytes(caller),
    )
    await complete_addresses(call.services, caller, collection, [record])
    return await render_record(collection, record, wanted.projection)
