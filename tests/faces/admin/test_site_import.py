"""Sites, Import a site: an operator uploads the archive of a site, and the worker imports it."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from tests.every_row import rows_of_tenant
from tests.faces.admin.visitor import BARE, OWN, Visitor, staff, visitor
from tests.world import TenantWorld, World

from masthead.base.caller import system
from masthead.faces.site_archive.export import export_site
from masthead.identity.tenant_lookup import find_tenant_named
from masthead.service.background import job_runner
from masthead.service.schema import registry

ADDRESS = "/admin/tenants/import"
PASSPHRASE = "correct horse battery"


@pytest.fixture
async def archive(tenant: TenantWorld, tmp_path: Path) -> bytes:
    await tenant.published(title="The lighthouse keeper", content="<p>Fog</p>")
    await tenant.settings(ai_api_key="sk-secret")
    found = await find_tenant_named(tenant.world.parts.records, tenant.slug)
    await export_site(tenant.world.parts, found, tmp_path / "a.tar", passphrase=PASSPHRASE)
    return (tmp_path / "a.tar").read_bytes()


@pytest.fixture
async def operator(tenant: TenantWorld) -> Visitor:
    world = tenant.world
    return visitor(world, await world.operator(name="Olga"), BARE)


async def send(browser: Visitor, content: bytes, **form: str) -> httpx.Response:
    filled = {"form_token": await browser.token(), "plan": "pro", **form}
    files = {"file": ("site.tar", content)}
    return await browser.api.post(ADDRESS, data=filled, files=files, headers=OWN)


async def work(world: World) -> None:
    runner = job_runner(world.parts)
    while await runner.run_due():
        pass


async def uploads(world: World) -> list[str]:
    return [key async for key in world.parts.objects.list_keys("site-imports")]


async def test_an_operator_imports_a_site(
    tenant: TenantWorld, operator: Visitor, archive: bytes
) -> None:
    world = tenant.world
    assert "Import a site" in (await operator.get(ADDRESS)).text
    assert ADDRESS in (await operator.get("/admin/tenants")).text
    # Other tests of the same service import sites, too.
    slug = f"{tenant.slug}-moved"
    answer = await send(operator, archive, slug=slug, passphrase=PASSPHRASE)
    assert f"The site {slug} is being imported" in await operator.follow(answer)
    [key] = await uploads(world)
    # The passphrase is stored only as long as the job, and encrypted.
    stored = await rows_of_tenant(world.parts.database, "")
    assert PASSPHRASE not in repr(stored["jobs"])
    await work(world)
    assert not await uploads(world)
    page = await world.client(f"{slug}.localhost").get("/posts/the-lighthouse-keeper")
    assert page.status_code == 200
    [moved] = await world.parts.records.find(registry["tenants"], {"slug": slug})
    [settings] = await world.parts.records.find(
        registry["site_settings"], {}, tenant_id=moved["id"]
    )
    assert moved["plan"] == "pro"
    records = world.parts.records
    assert records.reveal(registry["site_settings"], settings, "ai_api_key") == "sk-secret"
    assert key.endswith("/site.tar")


async def test_an_attempt_that_is_repeated_makes_no_second_site(
    tenant: TenantWorld, operator: Visitor, archive: bytes
) -> None:
    world = tenant.world
    await send(operator, archive, slug="twice")
    [key] = await uploads(world)
    kept = b"".join([each async for each in (await world.parts.objects.get(key)).chunks])
    await work(world)
    # As after a crash between the end of the import and that of its job.
    await world.parts.objects.put(key, kept)
    async with world.parts.records.unit(system()) as unit:
        await unit.enqueue("site_archive.import", {"key": key, "slug": "twice", "passphrase": ""})
    await work(world)
    assert len(await world.parts.records.find(registry["tenants"], {"slug": "twice"})) == 1
    assert not await uploads(world)


async def test_what_can_not_be_imported_is_said_at_once(
    tenant: TenantWorld, operator: Visitor, archive: bytes
) -> None:
    for content, form, sentence in (
        (b"PK something", {}, "not an archive made by"),
        (archive[:-3_000], {}, "damaged or incomplete"),
        (archive, {}, f"There is a site {tenant.slug} already"),
        (archive, {"slug": "Not A Slug"}, "Must be 1 to 63"),
        (archive, {"slug": "x", "passphrase": "another passphrase"}, "The passphrase is wrong"),
        (b"", {}, "Choose a file."),
        (archive, {"slug": "x", "plan": "gold"}, "Choose a plan."),
    ):
        answer = await send(operator, content, **form)
        assert (answer.status_code, sentence in answer.text) == (422, True), sentence
    assert not await uploads(tenant.world)


async def test_the_staff_of_a_site_can_not_import(tenant: TenantWorld, archive: bytes) -> None:
    owner, _ = await staff(tenant, "owner")
    assert (await owner.get(ADDRESS)).status_code in (403, 404)
    assert (await send(owner, archive, slug="moved")).status_code in (403, 404)
