"""Unsubscribing by the link in an email: GET shows a button, POST unsubscribes."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests import corpus
from tests.world import Account, TenantWorld, World

from masthead.base.config.keyring import KeyRing
from masthead.base.ids import TenantId
from masthead.features.members.unsubscribe import PATH, Unsubscribe, unsubscribe_token

# Made with `printf '%s' EMAIL | openssl dgst -sha256 -hmac SECRET`.
TOKENS = [
    (
        "letters-by-post",
        "anna@example.com",
        "d81f04f77d0ee56e59bf3dc7ca4a41242297096206551d180d2cd1b40d10d3cf",
    ),
    (
        "ключ-2",
        "anna@example.com",
        "09460b413262a6f76f1918af0eca5839ac7efce32636bf36a2957d5c1987fea7",
    ),
    (
        "letters-by-post",
        "tide+alerts@example.com",
        "4d53e1e3a7f1338bf9c41f59273c678ff12dfe2623471d1f6118c020a23ab545",
    ),
    (
        "letters-by-post",
        "Nell.Ashby@Example.COM",
        "c06d5753aede8dfc6e2cba2b3e1d3169c1a027816364210043ffc0f17f012f89",
    ),
    (
        "letters-by-post",
        "d'arcy@example.com",
        "4d43883552249e3034db1985b98d69aa7781b2201f3e3410c8953284dfc7b9f0",
    ),
    (
        "letters-by-post",
        "zoë@example.com",
        "828509d472e3369685aa08c93d8a1e0d79ad322feac9ce95026d51ac8ceac15f",
    ),
    (
        "letters-by-post",
        "salt&light=1@example.com",
        "d34f3060ab1580798841fda1f58c3f1b1a1e0f02471fc3499ce884c3a36e8ae4",
    ),
    (
        "letters-by-post",
        "fifty%25@example.com",
        "54c36bc20e7a421cd80c40e9282d8aff9d2467cb4989db1250b0725f9da517f8",
    ),
    (
        "letters-by-post",
        "潮@例え.example",
        "998426ccf386abf9266f785497eb580a4e604566bd2d0fbe0fee70464f8762b5",
    ),
]
ONE_CLICK = {"List-Unsubscribe": "One-Click"}
HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
JSON = {"accept": "application/json"}


def link_of(tenant: TenantWorld, email: str) -> str:
    """Path and query of the link that an email to this address would hold."""
    parts = tenant.world.parts
    url = Unsubscribe(parts.records, parts.keyring).url("http://x", tenant.id, email)
    return url.removeprefix("http://x")


@pytest.fixture
async def reader(tenant: TenantWorld) -> Account:
    return await tenant.member(newsletter=True, email="plus+tag@example.com")


async def is_subscribed(tenant: TenantWorld, reader: Account) -> bool:
    records = tenant.world.parts.records
    found = await records.find(
        tenant.world.collection("blog_members"), {"id": reader.id}, tenant_id=tenant.id
    )
    subscribed: bool = found[0]["newsletter"]
    return subscribed


def token_vectors() -> list[tuple[str, str, str]]:
    files = corpus.found("webhooks/unsubscribe-token-vectors.json")
    others = [each for path in files for each in json.loads(path.read_text())["vectors"]]
    return TOKENS + [(each["secret"], each["email"], each["token"]) for each in others]


@pytest.mark.parametrize(("secret", "email", "token"), token_vectors())
def test_tokens(secret: str, email: str, token: str) -> None:
    assert unsubscribe_token(secret.encode(), email) == token


async def test_a_link_tells_the_address_exactly(tenant: TenantWorld) -> None:
    for email in ("tide+alerts@example.com", "d'arcy@a.example", "salt&light=1%25@a.example"):
        path, _, query = link_of(tenant, email).partition("?")
        assert path == PATH
        assert dict(parse_qsl(query, strict_parsing=True))["email"] == email


class TestLink:
    async def test_opening_it_only_shows_a_button(
        self, tenant: TenantWorld, reader: Account
    ) -> None:
        before = await tenant.event_names()
        for headers in (HTML, JSON, {}):
            answer = await tenant.guest.get(link_of(tenant, reader.email), headers=headers)
            assert answer.status_code == 200
        answer = await tenant.guest.get(link_of(tenant, reader.email), headers=HTML)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert '<form class="form" method="post">' in answer.text
        assert ">Unsubscribe</button>" in answer.text
        assert "plus+tag@example.com" in answer.text
        assert await is_subscribed(tenant, reader)
        assert await tenant.event_names() == before

    @pytest.mark.parametrize("data", [None, ONE_CLICK])
    async def test_posting_to_it_unsubscribes(
        self, tenant: TenantWorld, reader: Account, data: dict[str, str] | None
    ) -> None:
        before = len(await tenant.event_names())
        answer = await tenant.guest.post(link_of(tenant, reader.email), data=data)
        assert answer.status_code == 200
        assert "You are unsubscribed" in answer.text
        assert "<form" not in answer.text
        assert not await is_subscribed(tenant, reader)
        names = (await tenant.event_names())[before:]
        assert names == ["subscriber.removed", "member.unsubscribed"]

    async def test_one_click_as_multipart(self, tenant: TenantWorld, reader: Account) -> None:
        form = {"List-Unsubscribe": (None, "One-Click")}
        answer = await tenant.guest.post(link_of(tenant, reader.email), files=form)
        assert answer.status_code == 200
        assert not await is_subscribed(tenant, reader)

    async def test_it_may_be_repeated(self, tenant: TenantWorld, reader: Account) -> None:
        first = await tenant.guest.post(link_of(tenant, reader.email))
        events = await tenant.event_names()
        second = await tenant.guest.post(link_of(tenant, reader.email))
        assert (first.status_code, first.text) == (second.status_code, second.text)
        assert await tenant.event_names() == events

    async def test_an_unknown_address_gets_the_same_pages(
        self, tenant: TenantWorld, reader: Account
    ) -> None:
        unknown = "nobody@example.com"
        for method in ("GET", "POST"):
            mine = await tenant.guest.request(method, link_of(tenant, reader.email))
            theirs = await tenant.guest.request(method, link_of(tenant, unknown))
            assert (mine.status_code, theirs.status_code) == (200, 200)
            shown = mine.text.replace(reader.email, unknown)
            assert shown == theirs.text

    async def test_as_json(self, tenant: TenantWorld, reader: Account) -> None:
        link = link_of(tenant, reader.email)
        asked = await tenant.guest.get(link, headers=JSON)
        assert asked.json()["status"] == "ready"
        done = await tenant.guest.post(link, headers=JSON)
        assert done.json()["status"] == "unsubscribed"

    async def test_case_does_not_matter(self, tenant: TenantWorld, reader: Account) -> None:
        link = link_of(tenant, "PLUS+Tag@Example.com")
        assert link == link_of(tenant, reader.email)
        shouted = link.replace("plus%2Btag", "Plus%2BTAG")
        assert (await tenant.guest.post(shouted)).status_code == 200
        assert not await is_subscribed(tenant, reader)

    async def test_a_plus_that_is_not_encoded(self, tenant: TenantWorld, reader: Account) -> None:
        link = link_of(tenant, reader.email).replace("%2B", "+")
        assert (await tenant.guest.post(link)).status_code == 200
        assert not await is_subscribed(tenant, reader)

    async def test_it_works_while_the_site_is_read_only(
        self, tenant: TenantWorld, reader: Account
    ) -> None:
        await tenant.settings(read_only_mode=True)
        assert (await tenant.guest.post(link_of(tenant, reader.email))).status_code == 200
        assert not await is_subscribed(tenant, reader)

    async def test_the_others_stay(
        self, tenant: TenantWorld, other_tenant: TenantWorld, reader: Account
    ) -> None:
        namesake = await other_tenant.member(newsletter=True, email=reader.email)
        neighbour = await tenant.member(newsletter=True)
        await tenant.guest.post(link_of(tenant, reader.email))
        assert await is_subscribed(other_tenant, namesake)
        assert await is_subscribed(tenant, neighbour)


class TestRefusals:
    async def refused(self, tenant: TenantWorld, link: str) -> None:
        for method in ("GET", "POST"):
            page = await tenant.guest.request(method, link, headers=HTML)
            assert page.status_code == 400
            assert page.headers["content-type"] == "text/html; charset=utf-8"
            assert "<form" not in page.text
            told = await tenant.guest.request(method, link, headers=JSON)
            assert (told.status_code, told.json()["code"]) == (400, "bad_request")

    async def test_a_wrong_token(self, tenant: TenantWorld, reader: Account) -> None:
        link = link_of(tenant, reader.email)
        wrong = "0" if link[-1] != "0" else "1"
        for bad in (link[:-1], link[:-1] + wrong, link + "0", link[:-64], link + "%C3%BC"):
            await self.refused(tenant, bad)
        await self.refused(tenant, PATH)
        await self.refused(tenant, f"{PATH}?email={reader.email}")
        await self.refused(tenant, link + "&email=other%40example.com")
        await self.refused(tenant, link + "&x=" + "x" * 5000)
        assert await is_subscribed(tenant, reader)

    async def test_a_token_of_another_address(self, tenant: TenantWorld, reader: Account) -> None:
        link = link_of(tenant, "other@example.com")
        await self.refused(tenant, link.replace("other%40", "plus%2Btag%40"))
        assert await is_subscribed(tenant, reader)

    async def test_a_token_of_another_tenant(
        self, tenant: TenantWorld, other_tenant: TenantWorld, reader: Account
    ) -> None:
        await self.refused(tenant, link_of(other_tenant, reader.email))
        assert await is_subscribed(tenant, reader)

    async def test_where_there_is_no_site(self, app: World, tenant: TenantWorld) -> None:
        link = link_of(tenant, "a@example.com")
        for host in ("localhost", "nobody.localhost"):
            answer = await app.client(host).post(link, headers=HTML)
            assert (answer.status_code, answer.headers["content-type"]) == (
                404,
                "text/html; charset=utf-8",
            )

    async def test_other_methods(self, tenant: TenantWorld, reader: Account) -> None:
        for method in ("PUT", "DELETE", "PATCH"):
            answer = await tenant.guest.request(method, link_of(tenant, reader.email))
            assert answer.status_code == 405
        assert await is_subscribed(tenant, reader)


class TestPage:
    async def test_the_page_forbids_scripts_frames_caching_and_referrers(
        self, tenant: TenantWorld, reader: Account
    ) -> None:
        answer = await tenant.guest.get(link_of(tenant, reader.email))
        headers = answer.headers
        assert "<script" not in answer.text
        assert "<style" not in answer.text
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "private, no-store"
        assert headers["x-robots-tag"] == "noindex, nofollow"
        assert headers["x-content-type-options"] == "nosniff"

    async def test_markup_in_names_stays_text(self, tenant: TenantWorld) -> None:
        await tenant.settings(site_name="<script>alert(1)</script>")
        answer = await tenant.guest.get(link_of(tenant, "a&b='<x>'@example.com"))
        assert answer.status_code == 200
        assert "<script" not in answer.text
        assert "<x>" not in answer.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text

    async def test_a_head_has_no_body(self, tenant: TenantWorld, reader: Account) -> None:
        answer = await tenant.guest.head(link_of(tenant, reader.email))
        assert (answer.status_code, answer.content) == (200, b"")


async def test_links_outlive_a_rotation_of_the_secret(app: World) -> None:
    tenant_id = TenantId("abcdefghij01234")
    old, new = KeyRing(["o" * 32]), KeyRing(["n" * 32, "o" * 32])
    records = app.parts.records
    url = Unsubscribe(records, old).url("http://x", tenant_id, "a@example.com")
    token = dict(parse_qsl(urlsplit(url).query))["token"]
    assert await Unsubscribe(records, new).is_genuine(tenant_id, "a@example.com", token)
    gone = KeyRing(["n" * 32])
    assert not await Unsubscribe(records, gone).is_genuine(tenant_id, "a@example.com", token)


class TestOneNewsletter:
    async def test_only_this_one_comes_first(self, tenant: TenantWorld, reader: Account) -> None:
        await tenant.create("newsletters", {"name": "Sunday <Letter>", "slug": "sunday"})
        link = link_of(tenant, reader.email)
        page = await tenant.guest.get(f"{link}&newsletter=sunday", headers=HTML)
        assert "Unsubscribe from Sunday &lt;Letter&gt;</button>" in page.text
        assert "Unsubscribe from all newsletters" in page.text
        done = await tenant.guest.post(f"{link}&newsletter=sunday", headers=HTML)
        assert "You are unsubscribed" in done.text
        records = tenant.world.parts.records
        (member,) = await records.find(
            tenant.world.collection("blog_members"), {"id": reader.id}, tenant_id=tenant.id
        )
        assert (member["newsletter"], member["newsletters_off"]) == (True, ["sunday"])
        await tenant.guest.post(link, headers=HTML)
        assert not await is_subscribed(tenant, reader)

    @pytest.mark.parametrize("slug", ["main", "unknown", "", "x" * 500])
    async def test_with_one_newsletter_or_an_unknown_one_it_means_all(
        self, tenant: TenantWorld, reader: Account, slug: str
    ) -> None:
        link = f"{link_of(tenant, reader.email)}&newsletter={slug}"
        assert (await tenant.guest.post(link)).status_code == 200
        assert not await is_subscribed(tenant, reader)

    async def test_the_token_is_checked(self, tenant: TenantWorld, reader: Account) -> None:
        await tenant.create("newsletters", {"name": "Sunday", "slug": "sunday"})
        link = link_of(tenant, reader.email)[:-1] + "!"
        assert (await tenant.guest.post(f"{link}&newsletter=sunday")).status_code == 400
