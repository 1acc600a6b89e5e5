"""Request bytes for the load generator, and single calls for set-up and checks."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bench.load import SERIAL

_BOUNDARY = "masthead-bench-boundary"


def request_bytes(
    method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None = None
) -> bytes:
    payload = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(payload)}"]
    return "\r\n".join([*lines, "", ""]).encode() + payload


def upload_bytes(path: str, headers: dict[str, str], fields: dict[str, str], file: bytes) -> bytes:
    """A form with some fields and one part `file`."""
    start = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; name="
    parts = [f'{start}"{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields.items()]
    parts.append(
        f'{start}"file"; filename="a.bin"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n".encode()
    )
    payload = b"".join(parts) + file + f"\r\n--{_BOUNDARY}--\r\n".encode()
    lines = [
        f"POST {path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
        f"Content-Type: multipart/form-data; boundary={_BOUNDARY}",
        f"Content-Length: {len(payload)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + payload


def call(
    port: int,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> Any:
    """The decoded answer. Raises for other statuses, with the server's message."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        payload = None if body is None else json.dumps(body)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, payload, sent | (headers or {}))
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if not 200 <= response.status < 300:
        raise RuntimeError(f"{method} {path}: {response.status} {answer[:500].decode()}")
    return json.loads(answer)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


def answer_to(port: int, request: bytes, serial: int) -> Answer:
    """Sends one request of the load generator."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        # A server may answer and close before it has read all of a large request.
        with suppress(ConnectionError):
            connection.sendall(request.replace(SERIAL, b"%08d" % serial))
        with http.client.HTTPResponse(connection) as response:
            response.begin()
            return Answer(response.status, response.getheaders(), response.read())


def send(port: int, request: bytes, serial: int) -> Any:
    """Sends one request of the load generator; returns the decoded answer."""
    answer = answer_to(port, request, serial)
    if not answer.is_good:
        line = request.partition(b"\r\n")[0].decode()
        raise RuntimeError(f"{line}: {answer.status} {answer.body[:500].decode()}")
    return json.loads(answer.body)
