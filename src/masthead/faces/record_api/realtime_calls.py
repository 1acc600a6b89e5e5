"""`GET /api/realtime`, a stream of events, and `POST`, which says what a client wants to hear of:
as PocketBase's."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import parse_qsl

from masthead.base.caller import Kind
from masthead.base.errors import BadRequest, Forbidden, NotFound, Problem, RateLimited
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.access import NAME_A_TENANT
from masthead.engine.records.fields.base import REQUIRED
from masthead.faces.record_api.call import Call
from masthead.faces.record_api.errors import RefusedWithData, problem_data
from masthead.faces.record_api.realtime.connection import Connection
from masthead.faces.record_api.realtime.connections import TOO_MANY_OPTIONS, RealtimeLimits
from masthead.faces.record_api.realtime.hub import (
    DONE,
    FORBIDDEN,
    OTHER_ACCOUNT,
    TOO_MANY,
    WRONG_CLIENT,
    Hub,
)
from masthead.faces.record_api.realtime.places import read_place
from masthead.faces.record_api.realtime.relay import Request
from masthead.faces.record_api.realtime.topics import different_options, read_subscriptions
from masthead.web.answers import Answer, RawHeaders, Stream, encode
from masthead.web.asgi import Receive, Send
from masthead.web.bodies import json_object
from masthead.web.multipart import read_form
from masthead.web.request import Request as WebRequest

WRITE_SECONDS = 15.0
COMMENT = b":\n"
"""For a client to take what was sent. Afterwards it is cut off."""
MAX_BODY = 3 * 1024 * 1024
"""Room for the most and the longest topics. Readers, who keep theirs here for as long as the
connection, send no more than 64 KiB."""
MAX_TOPICS = 1_000
MAX_TOPIC = 2_500
MAX_CLIENT_ID = 255
MAX_READERS_OPTIONS = 20
"""Different filters, expansions and fields of a reader: each is a query for every change."""

FAILED = "Something went wrong while processing your request."
HEADERS: RawHeaders = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    # Otherwise proxies such as nginx would buffer the messages.
    (b"x-accel-buffering", b"no"),
]


async def connect(call: Call) -> Stream:
    hub, request = call.store.realtime, call.request
    connection, facts = await open_connection(hub, request, request.tenant_id)
    return stream_to(hub, connection, facts, request.receive)


async def open_connection(
    hub: Hub, request: WebRequest, tenant_id: TenantId | None
) -> tuple[Connection, dict[str, Any]]:
    """With what its client is told first: whether it has missed something."""
    facts: dict[str, Any] = {}
    last_id = request.header(b"last-event-id") or ""
    place = read_place(last_id)
    if last_id and tenant_id is not None:
        is_known = place is not None and (await hub.state_of(tenant_id)).has_after(place.place)
        facts = {} if is_known else {"gap": True}
        place = place if is_known else None
    connection = hub.open(tenant_id, request.address)
    connection.resumed = place
    return connection, facts


def stream_to(hub: Hub, connection: Connection, facts: dict[str, Any], receive: Receive) -> Stream:
    return Stream(lambda send: _serve(hub, connection, facts, send, receive=receive))


async def subscribe(call: Call) -> Answer:
    client_id, topics = _check(await _read_body(call))
    hub, caller = call.store.realtime, call.caller
    if caller.is_reader:
        _check_cost(call, topics)
    if caller.tenant_id is None and caller.kind is not Kind.GUEST:
        raise BadRequest(NAME_A_TENANT)
    token = await call.services.callers.token_of(call.request)
    process = hub.ids.process_of(client_id)
    if process is None:
        raise NotFound(WRONG_CLIENT)
    if process == hub.ids.process:
        await hub.subscribe(client_id, topics, caller, token)
    else:
        await _ask_other(hub, process, Request(client_id, topics, caller.tenant_id, token))
    return Answer(204)


async def _ask_other(hub: Hub, process: str, request: Request) -> None:
    outcome = await hub.relay.ask(process, request)
    if outcome == FORBIDDEN:
        raise Forbidden(OTHER_ACCOUNT)
    if outcome == TOO_MANY:
        raise RateLimited(60, TOO_MANY_OPTIONS)
    if outcome != DONE:
        raise NotFound(WRONG_CLIENT)


async def _serve(
    hub: Hub, connection: Connection, facts: dict[str, Any], send: Send, *, receive: Receive
) -> None:
    leaving = asyncio.create_task(_close_when_gone(connection, receive))
    try:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        hello = encode({"clientId": connection.id, **facts})
        name = connection.id.encode()
        await _write(send, b"id:%b\nevent:PB_CONNECT\ndata:%b\n\n" % (name, hello))
        await _send_messages(connection, hub.limits, send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    except (TimeoutError, OSError):
        # It does not read, or has gone.
        log.info("realtime.cut_off", tenant=connection.tenant_id)
    finally:
        leaving.cancel()
        hub.close(connection)


async def _send_messages(connection: Connection, limits: RealtimeLimits, send: Send) -> None:
    began = time.monotonic()
    ends, idle_ends = began + limits.whole_seconds, began + limits.idle_seconds
    while not connection.is_closed:
        left = min(ends, idle_ends) - time.monotonic()
        await connection.wait(min(left, limits.comment_seconds))
        messages = connection.take()
        if messages:
            idle_ends = time.monotonic() + limits.idle_seconds
        elif connection.is_closed or left <= limits.comment_seconds:
            return
        await _write(send, messages or COMMENT)
        if time.monotonic() >= ends:
            return


async def _write(send: Send, content: bytes) -> None:
    async with asyncio.timeout(WRITE_SECONDS):
        await send({"type": "http.response.body", "body": content, "more_body": True})


async def _close_when_gone(connection: Connection, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    connection.close()


async def _read_body(call: Call) -> dict[str, Any]:
    """JSON, or a form as some clients send it."""
    content_type = (call.request.header(b"content-type") or "").lower()
    if call.is_multipart or content_type.startswith("application/x-www-form-urlencoded"):
        return await _form(call)
    raw = await call.request.body()
    try:
        return await json_object(raw) if raw.strip() else {}
    except BadRequest:
        raise BadRequest(FAILED) from None


async def _form(call: Call) -> dict[str, Any]:
    request = call.request
    if call.is_multipart:
        async with read_form(
            request.scope, request.receive, limit=request.max_body, no_files=FAILED
        ) as form:
            pairs = list(form.fields)
    else:
        try:
            text = (await request.body()).decode()
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_TOPICS + 2)
        except ValueError:
            raise BadRequest(FAILED) from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {
        "clientId": found.get("clientId", [""])[0],
        "subscriptions": found.get("subscriptions", []),
    }


def _check(given: dict[str, Any]) -> tuple[str, list[str]]:
    client_id, topics = given.get("clientId"), given.get("subscriptions")
    client_id = "" if client_id is None else client_id
    topics = [] if topics is None else topics
    if not isinstance(client_id, str) or not isinstance(topics, list):
        raise BadRequest(FAILED)
    if not all(isinstance(each, str) for each in topics):
        raise BadRequest(FAILED)
    problems = _problems(client_id, topics)
    if problems:
        raise RefusedWithData(problems, FAILED)
    return client_id, topics


def _check_cost(call: Call, topics: list[str]) -> None:
    wanted = read_subscriptions(topics, call.records.registry)
    if len(different_options(wanted)) > MAX_READERS_OPTIONS:
        message = f"Must have no more than {MAX_READERS_OPTIONS} different options."
        raise _refused_topics(message, MAX_READERS_OPTIONS)


def _refused_topics(message: str, most: int) -> RefusedWithData:
    problem = Problem("validation_length_too_long", message, {"min": 0, "max": most})
    return RefusedWithData({"subscriptions": problem_data(problem)}, FAILED)


def _problems(client_id: str, topics: list[str]) -> dict[str, Any]:
    problems: dict[str, Any] = {}
    if not client_id:
        problems["clientId"] = problem_data(REQUIRED)
    elif len(client_id) > MAX_CLIENT_ID:
        message = f"The length must be between 1 and {MAX_CLIENT_ID}."
        problem = Problem(
            "validation_length_out_of_range", message, {"min": 1, "max": MAX_CLIENT_ID}
        )
        problems["clientId"] = problem_data(problem)
    if len(topics) > MAX_TOPICS:
        problems["subscriptions"] = too_long(MAX_TOPICS)
    elif long := {
        str(n): too_long(MAX_TOPIC) for n, each in enumerate(topics) if len(each) > MAX_TOPIC
    }:
        problems["subscriptions"] = long
    return problems


def too_long(most: int) -> dict[str, Any]:
    message = f"The length must be no more than {most}."
    return problem_data(Problem("validation_length_too_long", message, {"min": 0, "max": most}))
