"""Headers and query strings, which anyone may send before signing in, are read in linear time.

Four times the input takes less than eight times as long, measured in one run by the processor time
of the event loop's thread; quadratic code takes sixteen times as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from tests.tiers import representatives
from tests.world import Account, TenantWorld, records_of

from masthead.web.asgi import ASGIApp, Message

# Heads are read before any database is asked.
pytestmark = pytest.mark.parametrize("service", ["sqlite"], indirect=True)

LIST = records_of("posts")
SHORT, LONG = 4_000, 16_000
"""Lengths below every limit. Nothing beyond `MOST` reaches the application."""
MOST = 64_000
MOST_TIMES_AS_LONG = 8
ROUNDS = 3

Fill = Callable[[int], str]


def of(text: str, *, before: str = "", after: str = "") -> Fill:
    """`text` over and over, in so many bytes."""
    return lambda size: before + text * ((size - len(before) - len(after)) // len(text)) + after


HEADERS: dict[str, tuple[tuple[str, ...], tuple[Fill, ...]]] = {
    "accept": (("/", "/member/unsubscribe"), (of("text/html;q=0.1,"), of(";"), of("json"))),
    "accept-encoding": (
        ("/", "/api/health"),
        (of("gzip;q=1,"), of("9", before="gzip;q="), of("9", before="gzip;q=0."), of(","), of(";")),
    ),
    "accept-language": (("/", "/admin/sign-in"), (of("en;q=0.1,"), of("-"))),
    "access-control-request-headers": (("/api/v1/posts",), (of("a,"),)),
    "authorization": (
        ("/", "/api/v1/posts", LIST),
        (of("x", before="Bearer "), of(".", before="Bearer "), of(" "), of("a.", before="Basic ")),
    ),
    "content-type": (
        ("/admin/sign-in", LIST, "/api/ai/generate"),
        (
            of(";", before="multipart/form-data"),
            of(";", before='multipart/form-data; a="'),
            of('\\"', before='multipart/form-data; a="'),
            of("a=b;", before="multipart/form-data; "),
            of("a*0=b;", before="multipart/form-data; "),
            of("x", before="multipart/form-data; boundary="),
        ),
    ),
    "cookie": (
        ("/", "/admin", "/admin/sign-in", "/member/account", LIST, "/api/gdpr/export"),
        (
            of('\\"', before='a="', after='"'),
            of("\\072", before='a="', after='"'),
            of(";"),
            of("="),
            of("a=b; "),
            of('"'),
            of("%7B", before="pb_auth="),
            of("[", before='pb_auth={"token":'),
            of("a.", before="pb_member_auth="),
            of("-", before="posted_comments="),
        ),
    ),
    "forwarded": (("/",), (of("for=a,"),)),
    "host": (("/", "/api/health"), (of("a."), of("0:", before="["), of("1", before="a:"))),
    "idempotency-key": (("/api/v1/posts",), (of("a"),)),
    "if-match": (("/api/v1/posts",), (of('"'), of("1", before='"', after='"'), of("W/"))),
    "if-modified-since": (("/file",), (of("1 "), of(","), of("Mon, "), of("("))),
    "if-none-match": (
        ("/", "/file", "/api/openapi.json"),
        (of('"'), of("W/"), of("a", before='"'), of('"a",'), of('W/"')),
    ),
    "if-range": (("/file",), (of("1 "), of('"'))),
    "origin": ((LIST, "/admin/sign-in"), (of("a:", before="http://"), of("[", before="http://"))),
    "range": (("/file",), (of("0-1,", before="bytes="), of("9", before="bytes="), of(" "))),
    "referer": (("/admin/sign-in",), (of("a/"),)),
    "user-agent": (("/", LIST), (of("("), of("a/1 "))),
    "x-forwarded-for": (("/", "/api/health"), (of("10.0.0.1,"), of(","), of("1."))),
    "x-tenant-id": ((LIST,), (of("a"),)),
}
QUERIES = (
    of("&"),
    of("a=b&"),
    of("a&"),
    of("%"),
    of("%41"),
    of("+", before="a="),
    of("(", before="filter="),
    of("!", before="filter="),
    of("'", before="filter="),
    of("a.", before="filter="),
    of("a,", before="sort="),
    of("a.", before="expand="),
    of("a(", before="fields="),
    of("9", before="page="),
    of("a ", before="q="),
    of("../", before="next=/"),
    of(".", before="token="),
)
PATHS = (
    *("/", "/search", "/archive", "/posts/x", "/admin", "/admin/sign-in", LIST, "/file"),
    *("/api/v1/posts", "/api/health", "/member/unsubscribe", "/reset-password", "/api/gdpr/export"),
)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@pytest.fixture
async def file(owner: Account) -> str:
    """The address of a medium."""
    sent = await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text")})
    record = sent.json()
    return f"/api/files/media/{record['id']}/{record['file']}"


async def status_of(app: ASGIApp, request: Request) -> int:
    """Without a client library, which takes its own time for long headers."""
    statuses = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in request.headers.items()],
        "client": ("198.51.100.7", 4242),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
    return statuses[0]


async def seconds(app: ASGIApp, request: Request) -> float:
    """The shortest of a few requests: the first ones compile statements and templates."""
    times = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        status = await status_of(app, request)
        times.append(time.thread_time() - began)
        assert status < 500, (status, request)
    return min(times)


async def superlinear(app: ASGIApp, plain: Request, filled: Callable[[int], Request]) -> list[str]:
    usual = await seconds(app, plain)
    found = []
    for short, long in ((SHORT, LONG), (LONG, MOST)):
        times = [await seconds(app, filled(size)) for size in (short, long)]
        if times[1] > MOST_TIMES_AS_LONG * max(times[0], usual):
            found.append(f"{filled(40)}: {times[0]:.4f} s, {times[1]:.4f} s")
    return found


@pytest.mark.parametrize("header", representatives(HEADERS, 3))
async def test_no_header_takes_more_than_linear_time(
    tenant: TenantWorld, file: str, header: str
) -> None:
    paths, fills = HEADERS[header]
    method = "POST" if header == "content-type" else "GET"
    found = []
    for path in paths:
        plain = Request(method, file if path == "/file" else path, headers={"host": tenant.host})
        for fill in fills:

            def filled(size: int, plain: Request = plain, fill: Fill = fill) -> Request:
                return replace(plain, headers={**plain.headers, header: fill(size)})

            found += await superlinear(tenant.world.http, plain, filled)
    assert found == []


@pytest.mark.parametrize("path", representatives(PATHS, 2))
async def test_no_query_string_takes_more_than_linear_time(
    tenant: TenantWorld, file: str, path: str
) -> None:
    plain = Request("GET", file if path == "/file" else path, headers={"host": tenant.host})
    found = []
    for fill in QUERIES:

        def filled(size: int, fill: Fill = fill) -> Request:
            return replace(plain, query=fill(size))

        found += await superlinear(tenant.world.http, plain, filled)
    assert found == []
