"""From a request's head to the ASGI scope: its target in each of the forms that RFC 9112 knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

import httptools

from masthead.serving.refusals import Malformed, Refused

Headers = list[tuple[bytes, bytes]]
Address = tuple[str, int] | None

_ASGI = {"version": "3.0", "spec_version": "2.3"}
# As numbers, which are looked for many times as fast.
_SLASH, _HASH, _PERCENT = b"/#%"


def scope_of(
    method: bytes, url: bytes, version: str, headers: Headers, client: Address, server: Address
) -> dict[str, Any]:
    """Raises Refused where there is no way to say what is asked for."""
    if version != "1.1":
        _check_version(version, headers)
    if url[0] == _SLASH and _HASH not in url:
        raw_path, _, query = url.partition(b"?")
    else:
        raw_path, query = _other_target(method, url, headers)
    try:
        if _PERCENT in raw_path:
            path = unquote_to_bytes(raw_path).decode()
        else:
            path = raw_path.decode("ascii")
    except UnicodeDecodeError:
        raise Refused(400, "The request's path is not UTF-8.") from None
    return {
        "type": "http",
        "asgi": _ASGI,
        "http_version": version,
        "server": server,
        "client": client,
        "scheme": "http",
        "method": method.decode("ascii"),
        "root_path": "",
        "path": path,
        "raw_path": raw_path,
        "query_string": query,
        "headers": headers,
    }


def _check_version(version: str, headers: Headers) -> None:
    if version != "1.0":
        raise Malformed
    if any(name == b"transfer-encoding" for name, _ in headers):
        # An old proxy in front does not know it, and would see another end of this request.
        raise Refused(400, "Transfer-Encoding is not part of HTTP/1.0.")


def _other_target(method: bytes, url: bytes, headers: Headers) -> tuple[bytes, bytes]:
    if method == b"CONNECT":
        raise Refused(400, "This is no proxy.")
    if url == b"*" and method == b"OPTIONS":
        # About the server as a whole, of which nothing is said beyond what the root says.
        return b"/", b""
    try:
        parsed = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        raise Malformed from None
    if parsed.host is not None:
        _check_authority(url, headers)
    path = parsed.path or b"/"
    if path[0] != _SLASH:
        raise Malformed
    return path, parsed.query or b""


def _check_authority(url: bytes, headers: Headers) -> None:
    """A proxy that goes by one of two different names must not hide the other from us."""
    authority = url.partition(b"://")[2]
    for end in (b"/", b"?", b"#"):
        authority = authority.partition(end)[0]
    if [authority.lower()] != [value.lower() for name, value in headers if name == b"host"]:
        raise Refused(400, "The request names two hosts.")


def address(found: Sequence[Any] | str | None) -> Address:
    """Host and port; a socket of another family has none."""
    return (str(found[0]), int(found[1])) if isinstance(found, tuple) else None
