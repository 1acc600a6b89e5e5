"""The front door: the tenant of a request, and unexpected errors."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.web.routed import broken, everywhere
from tests.world import Account, TenantWorld, World, records_of

from masthead.service.app import front_door
from masthead.web.answers import Stream
from masthead.web.asgi import Send
from masthead.web.dispatch import Dispatch
from masthead.web.request import Request

POSTS = records_of("posts")


def raw_client(app: World) -> httpx.AsyncClient:
    return app.client("localhost")


async def test_an_address_with_a_nul_character_is_not_found(tenant: TenantWorld) -> None:
    """On both databases, one of which can't look for it."""
    for path in ("/a%00b", "/posts/a%00b", "/tags/%00", "/authors/%00", "/api/v1/posts/%00"):
        assert (await tenant.guest.get(path)).status_code == 404


class TestHosts:
    @pytest.mark.parametrize(
        "host",
        [
            "a b",
            "a/b",
            "demo.localhost@evil",
            "demo..localhost",
            "-x.localhost",
            "x:99999",
            "ü",
            "[::1",
            "127.1",
        ],
    )
    async def test_a_malformed_one_is_refused(self, app: World, host: str) -> None:
        headers = [(b"host", host.encode("latin-1"))]
        answer = await raw_client(app).get(POSTS, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "validation_invalid_data")

    @pytest.mark.parametrize("headers", [[], [(b"host", b"a.localhost"), (b"host", b"localhost")]])
    async def test_there_is_exactly_one(self, app: World, headers: list[Any]) -> None:
        status, _ = await _ask(app.http, headers)
        assert status == 400

    @pytest.mark.parametrize("host", ["nobody.localhost", "evil.example", "a.b.localhost"])
    async def test_an_unknown_host_is_not_found(self, app: World, host: str) -> None:
        answer = await app.client(host).get(POSTS)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert host not in answer.text

    @pytest.mark.parametrize("spelling", ["{}", "{}:8080", "{}.", "{upper}"])
    async def test_a_tenants_own(self, app: World, tenant: TenantWorld, spelling: str) -> None:
        post = await tenant.published()
        host = spelling.format(tenant.host, upper=tenant.host.upper())
        items = (await raw_client(app).get(POSTS, headers={"host": host})).json()["items"]
        assert [item["id"] for item in items] == [post["id"]]

    async def test_a_custom_domain(self, app: World, tenant: TenantWorld) -> None:
        domain = f"{tenant.slug}.example"
        assert (await app.client(domain).get(POSTS)).status_code == 404
        post = await tenant.published()
        await tenant.settings(custom_domain=domain)
        items = (await app.client(domain).get(POSTS)).json()["items"]
        assert [item["id"] for item in items] == [post["id"]]

    async def test_a_forwarded_host_is_ignored(
        self, app: World, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        post = await tenant.published()
        await other_tenant.published()
        for name in ("x-forwarded-host", "forwarded", "x-host", "x-original-host"):
            answer = await tenant.guest.get(POSTS, headers={name: other_tenant.host})
            assert [item["id"] for item in answer.json()["items"]] == [post["id"]]

    async def test_health_answers_by_any_name(self, app: World) -> None:
        assert (await app.client("whatever.example").get("/api/health")).status_code == 200


class TestTenantHeader:
    async def test_it_chooses_where_the_host_does_not(
        self, app: World, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        post = await tenant.published()
        await other_tenant.published()
        answer = await app.client().get(POSTS, headers={"x-tenant-id": tenant.id})
        assert [item["id"] for item in answer.json()["items"]] == [post["id"]]

    async def test_it_may_not_contradict_the_host(
        self, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        same = await tenant.guest.get(POSTS, headers={"x-tenant-id": tenant.id})
        other = await tenant.guest.get(POSTS, headers={"x-tenant-id": other_tenant.id})
        assert (same.status_code, other.status_code) == (200, 400)

    async def test_pages_are_those_of_the_host_alone(
        self, app: World, tenant: TenantWorld, other_tenant: TenantWorld
    ) -> None:
        """A shared cache keeps a page for everyone who asks this host for it."""
        await tenant.published(title="Shared")
        plain = await tenant.guest.get("/posts/shared")
        for named in (other_tenant.id, "nope"):
            answer = await tenant.guest.get("/posts/shared", headers={"x-tenant-id": named})
            assert answer.text == plain.text
        named_page = await app.client().get("/posts/shared", headers={"x-tenant-id": tenant.id})
        assert named_page.status_code == 404

    @pytest.mark.parametrize("named", ["nope", "x" * 15, "%00", "' OR 1=1", "é"])
    async def test_it_names_a_tenant(self, app: World, named: str) -> None:
        headers = [(b"x-tenant-id", named.encode("latin-1"))]
        assert (await app.client().get(POSTS, headers=headers)).status_code == 400

    async def test_it_is_no_credential(
        self, app: World, tenant: TenantWorld, draft: Any, other_tenant: TenantWorld
    ) -> None:
        answer = await app.client().get(POSTS, headers={"x-tenant-id": tenant.id})
        assert answer.json()["totalItems"] == 0
        stranger = await other_tenant.owner()
        headers = {"x-tenant-id": tenant.id, "authorization": stranger.token}
        answer = await app.client().get(POSTS, headers=headers)
        assert answer.json()["totalItems"] == 0

    async def test_an_operator_chooses_with_it(
        self, operator: Account, tenant: TenantWorld, draft: Any
    ) -> None:
        headers = {"x-tenant-id": tenant.id}
        made = await operator.api.post(POSTS, json={"title": "x"}, headers=headers)
        assert made.json()["tenant_id"] == tenant.id


class TestTransferCodings:
    @pytest.mark.parametrize(
        "codings",
        [["gzip, chunked"], ["gzip", "chunked"], ["chunked", "chunked"], ["chunked, chunked"]],
    )
    async def test_only_chunks_are_taken(self, tenant: TenantWorld, codings: list[str]) -> None:
        """A proxy that knows another coding could find another end of the body."""
        headers = [("transfer-encoding", each) for each in codings]
        for path in ("/", POSTS, "/api/v1/posts", "/admin"):
            request = tenant.guest.build_request("GET", path, headers=headers)
            answer = await tenant.guest.send(request)
            assert answer.status_code == 400
            assert answer.headers["connection"] == "close"

    async def test_chunks_are_taken(self, tenant: TenantWorld) -> None:
        headers = {"transfer-encoding": "Chunked"}
        assert (await tenant.guest.get(POSTS, headers=headers)).status_code == 200


class TestFailures:
    async def test_each_answer_has_a_request_id_of_its_own(self, app: World) -> None:
        ids = {(await app.client().get(POSTS)).headers["x-request-id"] for _ in range(3)}
        assert len(ids) == 3

    async def test_a_failure_tells_nothing_of_itself(self, app: World) -> None:
        failing = broken(RuntimeError("postgresql://user:secret@host /var/lib/data"))
        door = front_door(app.parts, Dispatch([], failing))
        answer = await app.client(app=door).get(POSTS)
        assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
        assert "secret" not in answer.text
        assert answer.headers["x-request-id"]

    async def test_an_answer_that_has_begun_is_cut_off(self, app: World) -> None:
        door = front_door(app.parts, Dispatch([], everywhere(break_off)))
        with pytest.raises(Exception, match="Something went wrong"):
            await app.client(app=door).get(POSTS)


async def break_off(_: Request) -> Stream:
    async def send_half(send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("too late")

    return Stream(send_half)


async def _ask(app: Any, headers: list[tuple[bytes, bytes]]) -> tuple[int, bytes]:
    """A request that httpx would not send."""
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": POSTS,
        "query_string": b"",
        "headers": headers,
        "client": ("192.0.2.1", 1),
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]
