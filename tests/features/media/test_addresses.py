"""The address of a file is made when it is shown: a command does not know the host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import msgspec
import pytest
from tests.faces.admin.visitor import staff
from tests.v1.keys import key_client
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import system
from masthead.base.config.values import Url
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.relation import Relation
from masthead.engine.records.fields.relation_list import RelationList
from masthead.features.media.collection import media
from masthead.features.media.upload import store_upload
from masthead.service.app import http_app
from masthead.service.schema import registry
from masthead.web.multipart import Upload

MEDIA = records_of("media")


@pytest.fixture
async def item(app: World, tenant: TenantWorld) -> Record:
    """As a command stores it in a shell that has none of the service's settings."""
    settings = replace(app.parts.settings, base_url=Url("http://shell.invalid:8000"))
    upload = Upload("file", "fog.txt", "")

    async def chunks() -> Any:
        yield b"words"

    await upload.fill(chunks())
    services = msgspec.structs.replace(app.parts, settings=settings)
    try:
        return await store_upload(services, system(tenant.id), media, {}, uploads=[upload])
    finally:
        upload.close()


@pytest.fixture
def address(tenant: TenantWorld, item: Record) -> str:
    return f"http://{tenant.host}/media/{item['id']}/{item['file']}"


async def test_nothing_of_the_host_is_stored(item: Record) -> None:
    assert item["url"] == f"/media/{item['id']}/{item['file']}"


async def test_the_public_api(tenant: TenantWorld, item: Record, address: str) -> None:
    api = await key_client(tenant)
    assert (await api.get("/api/v1/media")).json()["items"][0]["url"] == address
    assert (await api.get(f"/api/v1/media/{item['id']}")).json()["url"] == address


@pytest.mark.parametrize("query", ["", "?fields=url", "?fields=id,url"])
async def test_the_record_store(
    app: World, owner: Account, operator: Account, item: Record, address: str, query: str
) -> None:
    # Also for operators who name no tenant.
    for api in (owner.api, operator.api):
        one = await api.get(f"{MEDIA}/{item['id']}{query}")
        assert one.json()["url"] == address
        wanted = f"{query or '?'}&filter=id='{item['id']}'"
        (listed,) = (await api.get(f"{MEDIA}{wanted}")).json()["items"]
        assert listed["url"] == address
        assert ("tenant_id" in listed) == (not query)


async def test_the_answer_to_a_change(owner: Account, item: Record, address: str) -> None:
    changed = await owner.api.patch(f"{MEDIA}/{item['id']}", json={"alt": "Fog"})
    assert changed.json()["url"] == address


def test_no_expansion_leads_to_such_an_address() -> None:
    for collection in registry.collections:
        for field in collection.fields:
            if isinstance(field, Relation | RelationList):
                assert not registry[field.to].site_addresses
        if collection.site_addresses:
            assert not any(isinstance(each, Relation) for each in collection.fields)


@pytest.mark.parametrize(
    ("operator_sign", "found"), [("=", 1), ("!=", 0), ("~", 1)], ids=["is", "is not", "like"]
)
async def test_filters_take_the_whole_address_and_the_path(
    owner: Account, item: Record, address: str, operator_sign: str, found: int
) -> None:
    whole = [address] if operator_sign != "~" else []
    for value in (*whole, item["url"]):
        wanted = {"filter": f"url {operator_sign} '{value}'"}
        listed = await owner.api.get(MEDIA, params=wanted)
        assert listed.json()["totalItems"] == found


async def test_events_hold_the_whole_address(tenant: TenantWorld, owner: Account) -> None:
    answer = await owner.api.post(MEDIA, files={"file": ("a.txt", b"text")})
    assert answer.json()["url"].startswith(f"http://{tenant.host}/media/")
    told = dict(await tenant.events())["media.uploaded"]
    assert told["url"] == answer.json()["url"]


async def test_the_library(tenant: TenantWorld, item: Record, address: str) -> None:
    browser, _ = await staff(tenant, "owner")
    assert f'value="{address}"' in (await browser.get(f"/admin/media/{item['id']}")).text


async def test_a_site_with_a_domain_of_its_own_has_one_address(
    tenant: TenantWorld, owner: Account, operator: Account, item: Record
) -> None:
    domain = f"{tenant.slug}.example.com"
    await tenant.settings(custom_domain=domain)
    address = f"http://{domain}{item['url']}"
    api = await key_client(tenant)
    assert (await api.get("/api/v1/media")).json()["items"][0]["url"] == address
    assert (await api.get(f"/api/v1/media/{item['id']}")).json()["url"] == address
    made = await api.post("/api/v1/media", files={"file": ("a.txt", b"text")})
    assert made.json()["data"]["url"].startswith(f"http://{domain}/media/")
    assert dict(await tenant.events())["media.uploaded"]["url"] == made.json()["data"]["url"]
    for each in (owner.api, operator.api):
        assert (await each.get(f"{MEDIA}/{item['id']}")).json()["url"] == address
    browser, _ = await staff(tenant, "owner")
    assert f'value="{address}"' in (await browser.get(f"/admin/media/{item['id']}")).text
    listed = await owner.api.get(MEDIA, params={"filter": f"url = '{address}'"})
    assert listed.json()["totalItems"] == 1
    assert (await tenant.world.client(domain).get(item["url"])).status_code == 200


async def test_a_service_that_has_moved(app: World, owner: Account, item: Record) -> None:
    settings = replace(app.parts.settings, base_url=Url("https://localhost"))
    moved = httpx.ASGITransport(http_app(msgspec.structs.replace(app.parts, settings=settings)))
    async with httpx.AsyncClient(transport=moved, base_url=str(owner.api.base_url)) as client:
        headers = {"authorization": owner.token}
        shown = (await client.get(f"{MEDIA}/{item['id']}", headers=headers)).json()
    assert shown["url"].startswith("https://")
