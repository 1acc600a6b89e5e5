"""A cache that all readers share, in front of the service: nobody can put something into it that
others then get."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest
from tests.databases import fresh_url
from tests.service.serve.nginx import caching, needs_nginx
from tests.service.serve.peer import serving
from tests.world import Account, RunningClock, TenantWorld, World, open_world, records_of

pytestmark = needs_nginx

PATHS = ("/", "/posts/shared", "/archive", "/feed.xml", "/about", "/robots.txt", "/sitemap.xml")
POSTS = records_of("posts")


@dataclass
class Fronted:
    world: World
    tenant: TenantWorld
    other: TenantWorld
    member: Account
    cached: httpx.AsyncClient
    direct: httpx.AsyncClient

    async def attacks(self) -> list[dict[str, str]]:
        """Headers that could make another answer of the same address."""
        owner, stranger = await self.tenant.owner(), await self.other.owner()
        return [
            {"x-tenant-id": self.other.id},
            {"x-tenant-id": "no-such"},
            {"x-forwarded-host": self.other.host},
            {"forwarded": f"host={self.other.host};proto=https"},
            {"x-forwarded-proto": "https"},
            {"x-original-url": "/posts/elsewhere", "x-rewrite-url": "/posts/elsewhere"},
            {"x-http-method-override": "DELETE"},
            {"cookie": f"pb_member_auth={self.member.token}"},
            {"cookie": f"pb_auth={owner.token}"},
            {"authorization": f"Bearer {owner.token}"},
            {"authorization": f"Bearer {stranger.token}"},
            {"accept": "application/json"},
            {"accept-encoding": "identity"},
            {"accept-language": "fr"},
            {"range": "bytes=0-3"},
            {"hx-request": "true"},
            {"origin": "https://evil.example"},
        ]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
async def fronted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Fronted]:
    folder = tmp_path_factory.mktemp("fronted")
    world = await open_world(
        fresh_url(request.param, folder),
        folder,
        RunningClock(),
        MASTHEAD_DEFAULT_TENANT="demo",
        MASTHEAD_TRUSTED_PROXIES="127.0.0.0/8",
    )
    tenant = await world.new_tenant("demo", slug="demo")
    other = await world.new_tenant("other", slug="other")
    for each in (tenant, other):
        await each.published(title="Shared", content_html=f"<p>Of {each.slug}</p>")
        await each.published(title="Elsewhere", visibility="members", content_html="<p>M</p>")
        await each.create("pages", {"title": "About", "status": "published"})
    async with serving(world.http) as served, caching(served.port, folder) as front:
        behind = f"http://127.0.0.1:{served.port}"
        async with (
            httpx.AsyncClient(base_url=front) as cached,
            httpx.AsyncClient(base_url=behind) as direct,
        ):
            yield Fronted(world, tenant, other, await tenant.member(), cached, direct)
    await world.parts.close()


def shown(answer: httpx.Response) -> tuple[int, str, str | None]:
    # The address of the cache and that of the service stand in a policy alone.
    return answer.status_code, answer.text, answer.headers.get("content-type")


async def test_pages_are_kept_by_the_cache(fronted: Fronted) -> None:
    """Otherwise the tests below would show nothing."""
    for path in PATHS:
        states = set()
        while "HIT" not in states:
            answer = await fronted.cached.get(path)
            assert answer.status_code == 200
            states.add(answer.headers["x-cache"])
            assert "of other" not in answer.text.lower()


@pytest.mark.parametrize("path", [*PATHS, "/posts/elsewhere", "/nothing", POSTS, "/api/nothing"])
async def test_no_header_puts_another_answer_into_the_cache(fronted: Fronted, path: str) -> None:
    expected = shown(await fronted.direct.get(path))
    for number, headers in enumerate(await fronted.attacks()):
        for query in ("", f"?attack={number}"):
            await fronted.cached.get(path + query, headers=headers)
            await fronted.cached.head(path + query, headers=headers)
            answer = await fronted.cached.get(path + query)
            assert shown(answer) == expected, (headers, answer.headers)


async def test_no_header_gets_a_members_page_out_of_the_cache(fronted: Fronted) -> None:
    theirs = {"cookie": f"pb_member_auth={fronted.member.token}"}
    path = "/posts/elsewhere?of=a-member"
    as_member = await fronted.cached.get(path, headers=theirs)
    assert "<p>M</p>" in as_member.text
    for headers in ({}, {"cookie": "a=b"}, {"if-none-match": as_member.headers["etag"]}):
        answer = await fronted.cached.get(path, headers=headers)
        assert "<p>M</p>" not in answer.text
        assert answer.status_code == 200


async def test_a_tag_of_one_site_is_not_anothers(fronted: Fronted) -> None:
    """At the service's own address, where the sites have the same paths."""
    tags = set()
    for tenant in (fronted.tenant, fronted.other):
        answer = await tenant.guest.get("/posts/shared")
        tags.add(answer.headers["etag"].removeprefix("W/"))
    assert len(tags) == 2


async def test_a_file_of_one_site_is_found_after_another_was_asked_for_it(
    fronted: Fronted,
) -> None:
    owner = await fronted.tenant.owner()
    sent = await owner.api.post(records_of("media"), files={"file": ("a.txt", b"text")})
    path = f"/api/files/media/{sent.json()['id']}/{sent.json()['file']}"
    for headers in await fronted.attacks():
        await fronted.cached.get(path, headers=headers)
        answer = await fronted.cached.get(path)
        assert (answer.status_code, answer.text) == (200, "text"), headers


async def test_a_private_file_is_not_kept(fronted: Fronted) -> None:
    owner = await fronted.tenant.owner()
    sent = await owner.api.post(
        records_of("media"), files={"file": ("a.txt", b"text")}, data={"private": "true"}
    )
    item = sent.json()
    token = (await owner.api.post("/api/files/token")).json()["token"]
    for path in (
        f"/media/{item['id']}/{item['file']}",
        f"/api/files/media/{item['id']}/{item['file']}",
    ):
        for headers in ({"cookie": f"pb_auth={owner.token}"}, {"authorization": owner.token}):
            opened = await fronted.cached.get(path, headers=headers)
            assert (opened.status_code, opened.text) == (200, "text")
            assert (await fronted.cached.get(path)).status_code == 404
        opened = await fronted.cached.get(path, params={"token": token})
        assert opened.status_code == 200
        assert opened.headers["x-cache"] != "HIT"
        assert (await fronted.cached.get(path)).status_code == 404
