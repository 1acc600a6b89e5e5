"""Runs a tool as a call of the public API, through the front door: key, scopes, plan, limits,
validation and log lines are those of any other call."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from aiohttp import FormData

from masthead.base.errors import Invalid, Problem
from masthead.faces.mcp.tools import FILE_NAME, RouteTool, arguments_in_body
from masthead.web.asgi import ASGIApp, Message, Receive, Scope
from masthead.web.request import Request
from masthead.web.v1.routes import PREFIX

_PASSED_ON: Final = frozenset(
    {
        b"authorization",
        b"host",
        b"user-agent",
        b"x-forwarded-for",
        b"x-forwarded-proto",
        b"x-tenant-id",
    }
)
"""Headers that say who calls, from where, and which site."""


class Result(msgspec.Struct, frozen=True):
    status: int
    body: bytes


async def make_call(
    door: ASGIApp, outer: Request, tool: RouteTool, arguments: Mapping[str, Any]
) -> Result:
    """The answer of the public API to the tool's arguments; Invalid if they make no call."""
    content_type, body = await _body(tool, arguments)
    headers = [(name, value) for name, value in outer.scope["headers"] if name in _PASSED_ON]
    if content_type:
        headers.append((b"content-type", content_type.encode()))
    headers.append((b"content-length", str(len(body)).encode()))
    path = PREFIX + _path(tool, arguments)
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": outer.scope["http_version"],
        "method": tool.route.method,
        "scheme": outer.scope["scheme"],
        "path": path,
        "raw_path": path.encode(),
        "query_string": _query(tool, arguments),
        "root_path": "",
        "headers": headers,
        "client": outer.scope.get("client"),
        "server": outer.scope.get("server"),
    }
    received = _Received()
    await door(scope, replayed(body, outer.receive), received.take)
    return Result(received.status, b"".join(received.parts))


def _path(tool: RouteTool, arguments: Mapping[str, Any]) -> str:
    path = tool.route.path
    for name in tool.path_names:
        value = arguments.get(name)
        # A slash would lead to another operation.
        if not isinstance(value, str) or not value or "/" in value:
            raise _wrong(name, "Must be an id, as the lists show it.")
        path = path.replace(f"{{{name}}}", value)
    return path


def _query(tool: RouteTool, arguments: Mapping[str, Any]) -> bytes:
    given = {
        each.name: arguments[each.name] for each in tool.route.parameters if each.name in arguments
    }
    if tool.route.body is None:
        given |= arguments_in_body(tool, arguments)
    return urlencode({name: _text(value) for name, value in given.items()}).encode()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


async def _body(tool: RouteTool, arguments: Mapping[str, Any]) -> tuple[str, bytes]:
    """The content type and the body; both empty where the operation takes none."""
    if tool.route.body is None:
        return "", b""
    values = arguments_in_body(tool, arguments)
    if not tool.route.is_upload:
        return "application/json", msgspec.json.encode(values)
    form = FormData(default_to_multipart=True)
    file_name = _text(values.pop(FILE_NAME, "file"))
    for name, value in values.items():
        if name in tool.file_names:
            form.add_field(name, _decoded(name, value), filename=file_name)
        else:
            form.add_field(name, _text(value))
    payload = form()
    return payload.headers["Content-Type"], await payload.as_bytes()


def _decoded(name: str, value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise _wrong(name, "Must be the content of a file, in base64.") from error


def _wrong(name: str, message: str) -> Invalid:
    return Invalid({name: Problem("validation_invalid_value", message)})


def replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, then whatever the client does: it may hang up."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def next_message() -> Message:
        message: Message | None = next(messages, None)
        return await receive() if message is None else message

    return next_message


class _Received:
    """The answer, collected from its messages."""

    def __init__(self) -> None:
        self.status = 0
        self.parts: list[bytes] = []

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.parts.append(message.get("body", b""))
