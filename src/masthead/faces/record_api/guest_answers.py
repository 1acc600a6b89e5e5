"""Answers to guests from a cache: by the site and the whole address, until a record of the site
changes or becomes due. Whoever has signed in is answered from the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from masthead.base.caller import Kind
from masthead.engine.records.filter.parser import parse_given
from masthead.engine.records.read.due_dates import is_timeless
from masthead.engine.records.read.page import ListRequest
from masthead.engine.records.read.sorting import parse_sort
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.chunked_answers import PRIVATE
from masthead.web.answers import JSON, Answer, Stream

Handler = Callable[[Call], Awaitable[Answer | Stream]]


async def answer_from_cache(read: Handler, call: Call) -> Answer | Stream:
    """`read` says of its call whether the answer `is_repeatable`."""
    tenant_id = call.caller.tenant_id
    if call.caller.kind is not Kind.GUEST or tenant_id is None:
        return await read(call)
    cache, request = call.store.guest_answers, call.request
    key = (tenant_id, request.path, request.query_string)
    # Before the read, as the moment below: what changes or becomes due meanwhile ends the entry.
    version = await cache.version(tenant_id)
    cached = cache.get(key, version)
    if cached is not None:
        return Answer(200, cached.body, [JSON, PRIVATE])
    now = call.records.clock()
    answer = await read(call)
    if call.is_repeatable and isinstance(answer, Answer):
        until = await _unchanged_until(call, version, now)
        if until is not None:
            cache.put(key, version, answer.body, b"", headers=[], until=until)
    return answer


async def _unchanged_until(call: Call, version: int, now: datetime) -> str | None:
    """Read once for all answers of a collection: it takes as long as a small answer."""
    tenant_id, collection = call.caller.tenant_id, call.collection()
    assert tenant_id is not None
    cache, key = call.store.guest_answers, (tenant_id, collection.name, b"")
    known = cache.find(key, version)
    if known is not None:
        return known.until
    until = await call.records.unchanged_until(call.caller, collection, now)
    if until is not None:
        cache.put(key, version, b"", b"", headers=[], until=until)
    return until


def is_repeatable(wanted: ListRequest) -> bool:
    """Whether the list depends on nothing but the collection's rule and records. Other collections
    have rules of their own."""
    given = parse_given(wanted.filter, for_admin=False)
    if wanted.expand or (given is not None and not is_timeless(given.expression)):
        return False
    return all(len(each.path) == 1 and not each.random for each in parse_sort(wanted.sort))
