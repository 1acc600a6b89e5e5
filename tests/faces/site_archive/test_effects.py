"""Side effects of an import: nothing is sent, sessions end, and a failure leaves nothing."""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.databases import fresh_url
from tests.every_row import count_rows, rows_of_tenant
from tests.faces.admin.visitor import staff
from tests.faces.importers.write.exports import rows_of
from tests.faces.site_archive.archives import read_entries
from tests.faces.site_archive.full_site import Site, main_settings, new_full_site, read_all
from tests.features.factors.apps import add_app
from tests.world import PASSWORD, MovableClock, World, open_world

from masthead.base.caller import system
from masthead.base.errors import Invalid, MastheadError
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.faces.site_archive import sealed_secrets
from masthead.faces.site_archive.export import export_site
from masthead.faces.site_archive.importing import Imported, Overtaken, import_site
from masthead.faces.site_archive.leftovers import Leftovers
from masthead.faces.site_archive.new_ids import NewIds
from masthead.faces.site_archive.sealed_secrets import ShortPassphrase, WrongPassphrase
from masthead.features.members.unsubscribe import Unsubscribe
from masthead.identity.limits.plans import Plan
from masthead.identity.tenant_lookup import find_tenant_named
from masthead.identity.tenants import tenants
from masthead.service.schema import registry

PASSPHRASE = "correct horse battery"
KINDS = {"posts.publish", "tags.change"}


@pytest.fixture(autouse=True)
def a_guess_at_the_passphrase_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody guesses here; `test_moving.py` has the real cost."""
    monkeypatch.setattr(sealed_secrets, "_COST", 2**4)


@pytest.fixture(params=["sqlite", "postgresql"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    folder = tmp_path / "data"
    folder.mkdir()
    world = await open_world(fresh_url(request.param, tmp_path), folder, MovableClock())
    yield world
    await world.parts.close()


async def export(world: World, slug: str, file: Path, passphrase: str = "") -> Path:
    tenant = await find_tenant_named(world.parts.records, slug)
    file.unlink(missing_ok=True)
    await export_site(world.parts, tenant, file, passphrase=passphrase)
    return file


async def stamp(world: World, tenant_id: str, collection: str, **values: Any) -> None:
    """Sets values of the first record."""
    caller = system(TenantId(tenant_id))
    async with world.parts.records.unit(caller, emit_events=False) as unit:
        [first, *_] = await unit.find(registry[collection], {}, limit=1)
        await unit.link_copies(registry[collection], [first | values], tuple(values))


async def imported(world: World, file: Path, **given: Any) -> tuple[Imported, Site]:
    done = await import_site(world.parts, file, **given)
    return done, await read_all(world, done.tenant_id)


@pytest.mark.slow("imports a site with records in every collection")
async def test_a_copy_in_the_same_installation_sends_nothing(world: World, tmp_path: Path) -> None:
    tenant_id = await new_full_site(world)
    await stamp(world, tenant_id, "mailings", status="sending")
    await stamp(world, tenant_id, "newsletters", digest=True, digest_at="2020-01-01 00:00:00.000Z")
    await stamp(world, tenant_id, "posts", status="draft", scheduled_for="2099-01-01 00:00:00.000Z")
    await stamp(world, tenant_id, "import_runs", state="running")
    await stamp(
        world, tenant_id, "site_settings", custom_domain="own.example.org", wanted_domain=""
    )
    file = await export(world, "full", tmp_path / "site.tar", PASSPHRASE)
    with pytest.raises(MastheadError, match="There is a site full already"):
        await import_site(world.parts, file)
    with pytest.raises(Invalid):
        await import_site(world.parts, file, slug="admin")
    with pytest.raises(WrongPassphrase):
        await import_site(world.parts, file, slug="second", passphrase="another passphrase")
    done, site = await imported(world, file, slug="second")
    [settings] = site["site_settings"]
    assert settings["head_html"]
    assert settings["code_allowed"] is False
    assert done.secrets_left_out
    rows = await rows_of_tenant(world.parts.database, done.tenant_id)
    assert not rows["events"]
    assert not rows["mails"]
    # Scheduled posts are published here, too, and changes of tags go on.
    assert {kind for job in rows["jobs"] for kind in job if kind in KINDS} == KINDS
    assert len(rows["jobs"]) == len(site["posts"]) + len(site["tag_changes"])
    assert {each["status"] for each in site["mailings"]} == {"paused", "sent"}
    assert all(each["digest_at"] > "2026" for each in site["newsletters"])
    assert {each["state"] for each in site["import_runs"]} == {"failed", "done"}
    assert main_settings(site)["custom_domain"] == ""
    assert main_settings(site)["wanted_domain"] == "own.example.org"
    assert main_settings(site)["member_payment_secret_key"] == ""
    before = {
        each["secret"] for each in (await read_all(world, tenant_id))["webhook_subscriptions"]
    }
    for each in site["webhook_subscriptions"]:
        assert each["paused"]
        assert each["disabled_at"]
        assert len(each["secret"]) == 64
        assert each["secret"] not in before
    assert not site["sending_domains"]
    text = site["posts"][0]["content_html"]
    assert "http://second.localhost/api/files/media/" in text
    assert "<script>" not in (site["posts"][0]["content_clean"] or text)


async def test_the_operator_chooses_the_plan_and_an_archive_has_no_limits(
    world: World, tmp_path: Path
) -> None:
    tenant = await world.new_tenant("demo", slug="demo", plan="enterprise")
    limits = {"per_minute": 9_999, "per_hour": 9_999, "per_day": 9_999, "mails_per_month": 9_999}
    await tenant.update("tenants", tenant.id, limits)
    file = await export(world, "demo", tmp_path / "site.tar")
    for slug, given, plan in (("one", {}, "free"), ("two", {"plan": Plan.PRO}, "pro")):
        done = await import_site(world.parts, file, slug=slug, **given)
        (site,) = await world.parts.records.find(tenants, {"slug": slug}, tenant_id=done.tenant_id)
        assert {name: site[name] for name in (*limits, "plan")} == {
            **dict.fromkeys(limits),
            "plan": plan,
        }


async def test_an_archive_has_no_keys_of_sessions(world: World, tmp_path: Path) -> None:
    tenant = await world.new_tenant("demo", slug="demo")
    await tenant.owner()
    await tenant.member()
    file = await export(world, "demo", tmp_path / "site.tar", PASSPHRASE)
    entries = read_entries(file)
    content = b"".join(
        gzip.decompress(each) for name, each in entries if name.startswith("tables/")
    )
    keys = [
        row["token_key"]
        for name in ("_superusers", "blog_members")
        for row in await rows_of(world.parts, tenant.id, name)
    ]
    assert len(keys) == 2
    assert not any(key.encode() in content for key in keys)

    done = await import_site(world.parts, file, slug="copy", passphrase=PASSPHRASE)
    for name in ("_superusers", "blog_members"):
        assert all(row["token_key"] for row in await rows_of(world.parts, done.tenant_id, name))


async def test_the_new_site_serves_and_its_people_sign_in(world: World, tmp_path: Path) -> None:
    tenant = await world.new_tenant("demo", slug="demo")
    member = await tenant.member(name="Ada")
    await tenant.published(title="The lighthouse keeper", content="<p>Fog</p>")
    file = await export(world, "demo", tmp_path / "site.tar")
    done, _ = await imported(world, file, slug="copy")
    assert not done.secrets_left_out
    guest = world.client("copy.localhost")
    page = await guest.get("/posts/the-lighthouse-keeper")
    before = await world.client("demo.localhost").get("/posts/the-lighthouse-keeper")
    assert page.status_code == before.status_code == 200
    assert "The lighthouse keeper" in page.text
    assert ("Fog" in page.text) == ("Fog" in before.text)
    signed_in = await guest.post(
        "/api/collections/blog_members/auth-with-password",
        json={"identity": member.email, "password": PASSWORD},
    )
    assert signed_in.status_code == 200, signed_in.text
    old_session = await world.client("copy.localhost", token=member.token).get("/api/v1/posts")
    assert old_session.status_code == 401
    # Totals, lists and the search index are those of the records.
    listed = await guest.get("/api/collections/posts/records")
    assert listed.json()["totalItems"] == 1
    found = await guest.get("/search", params={"q": "lighthouse"})
    assert "The <mark>lighthouse</mark> keeper" in found.text


@pytest.mark.parametrize("codes_left", [10, 0])
async def test_a_password_alone_opens_no_account_with_a_second_factor(
    world: World, tmp_path: Path, codes_left: int
) -> None:
    tenant = await world.new_tenant("demo", slug="demo")
    browser, account = await staff(tenant, "owner")
    await add_app(browser, world)
    async with world.parts.records.unit(system(tenant.id)) as unit:
        [stored] = await unit.find(registry["_superusers"], {"id": account.id}, limit=1)
        left = {"recovery_hashes": stored["recovery_hashes"][:codes_left]}
        await unit.update(registry["_superusers"], account.id, {}, stamped=left)
    file = await export(world, "demo", tmp_path / "site.tar", PASSPHRASE)
    given = {"identity": account.email, "password": PASSWORD}
    for slug, passphrase, expected in (("bare", "", 400), ("whole", PASSPHRASE, 401)):
        await imported(world, file, slug=slug, passphrase=passphrase)
        answer = await world.client(f"{slug}.localhost").post(
            "/api/collections/_superusers/auth-with-password", json=given
        )
        assert answer.status_code == expected
        assert ("mfaId" in answer.json()) is (expected == 401)


async def test_links_to_unsubscribe_move_with_the_secrets(world: World, tmp_path: Path) -> None:
    tenant = await world.new_tenant("demo", slug="demo")
    member = await tenant.member(newsletter=True)
    unsubscribing = Unsubscribe(world.parts.records, world.parts.keyring)
    link = unsubscribing.url("", tenant.id, member.email)
    assert (await world.client("demo.localhost").get(link)).status_code == 200
    bare = await export(world, "demo", tmp_path / "bare.tar")
    await imported(world, bare, slug="bare")
    assert (await world.client("bare.localhost").get(link)).status_code == 400
    # Also those from before the first of two moves.
    file = await export(world, "demo", tmp_path / "site.tar", PASSPHRASE)
    done, _ = await imported(world, file, slug="copy", passphrase=PASSPHRASE)
    between = unsubscribing.url("", done.tenant_id, member.email)
    file = await export(world, "copy", tmp_path / "site.tar", PASSPHRASE)
    _, _ = await imported(world, file, slug="third", passphrase=PASSPHRASE)
    third = world.client("third.localhost")
    for each in (link, between):
        assert (await third.get(each)).status_code == 200
        assert (await third.get(each + "0")).status_code == 400
    assert (await third.post(link)).status_code == 200
    [moved] = (
        await read_all(world, (await find_tenant_named(world.parts.records, "third"))["id"])
    )["blog_members"]
    assert not moved["newsletter"]
    # The old site learns nothing of the links of the new one.
    assert (await world.client("demo.localhost").get(between)).status_code == 400


async def test_a_passphrase_has_to_be_long(world: World, tmp_path: Path) -> None:
    await world.new_tenant("demo", slug="demo")
    with pytest.raises(ShortPassphrase):
        await export(world, "demo", tmp_path / "site.tar", "short")
    assert not (tmp_path / "site.tar").exists()
    file = await export(world, "demo", tmp_path / "site.tar")
    done, _ = await imported(world, file, slug="copy", passphrase=PASSPHRASE)
    assert done.passphrase_unused


CRASH = """
import asyncio, os, signal, sys
from pathlib import Path
from masthead.base.config.settings import Settings
from masthead.service.installation import open_installation
from masthead.faces.site_archive.importing import import_site

def count(kind, _):
    if kind == "media":
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    url, folder, file = sys.argv[1:]
    given = {"MASTHEAD_SECRET_KEY": "k" * 40}
    settings = Settings.from_environ(given, data_dir=Path(folder), database_url=url)
    await import_site(await open_installation(settings), Path(file), slug="late", count=count)

asyncio.run(main())
"""


@pytest.mark.sweep
async def test_what_a_crash_leaves_is_removed(world: World, tmp_path: Path) -> None:
    await new_full_site(world)
    file = await export(world, "full", tmp_path / "site.tar")
    settings = world.parts.settings
    arguments = (settings.database_url, str(settings.data_dir), str(file))
    ended = subprocess.run([sys.executable, "-c", CRASH, *arguments], check=False)
    assert ended.returncode == -signal.SIGKILL
    records = world.parts.records
    listed = (await world.client().get("/")).status_code
    assert listed < 500
    [left] = await records.find(registry["tenants"], {"status": "suspended"})
    assert left["slug"].startswith("-importing-")
    closed = await world.client(f"{left['slug']}.localhost").get("/")
    assert closed.status_code in (400, 404, 503)
    assert "late" not in {each["slug"] for each in await records.find(registry["tenants"], {})}
    leftovers = Leftovers(records, world.parts.objects)
    await stamp_life(world, left["id"], leftovers)
    await leftovers.sweep()
    assert await count_rows(world.parts.database, left["id"], "posts")
    world.clock.advance(hours=2)
    await leftovers.sweep()
    assert not await count_rows(world.parts.database, left["id"])
    assert not [key async for key in world.parts.objects.list_keys(left["id"])]
    done, _ = await imported(world, file, slug="late")
    assert done.records


async def stamp_life(world: World, tenant_id: str, leftovers: Leftovers) -> None:
    """The crashed process had another clock."""
    caller = system(TenantId(tenant_id))
    async with world.parts.records.unit(caller, emit_events=False) as unit:
        await leftovers.show_life(unit)


async def import_interrupted(
    world: World, file: Path, ids: NewIds, happens: Callable[[], Awaitable[None]]
) -> None:
    """An import whose process is stopped when it has stored its first file."""
    objects = world.parts.objects
    put, have_happened = objects.put, []

    async def put_and_stop(*args: Any, **options: Any) -> None:
        await put(*args, **options)
        if not have_happened:
            have_happened.append(True)
            await happens()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(objects, "put", put_and_stop)
        with pytest.raises(Overtaken):
            await import_site(world.parts, file, slug="late", new_ids=ids)
    assert have_happened


@pytest.mark.sweep
async def test_an_import_that_was_taken_for_dead_leaves_nothing(
    world: World, tmp_path: Path
) -> None:
    """The clock jumps ahead, or the process hangs, and a worker cleans up."""
    await new_full_site(world)
    file = await export(world, "full", tmp_path / "site.tar")
    leftovers = Leftovers(world.parts.records, world.parts.objects)
    ids = NewIds()
    [tenant_id] = {ids.of(each["id"]) for each in await tenants_named(world, "full")}

    async def clean_up() -> None:
        world.clock.advance(hours=2)
        await leftovers.sweep()

    await import_interrupted(world, file, ids, clean_up)
    assert not await count_rows(world.parts.database, tenant_id)
    assert not [key async for key in world.parts.objects.list_keys(tenant_id)]
    assert not await tenants_named(world, "late")


@pytest.mark.sweep
async def test_an_attempt_that_was_taken_for_dead_spoils_none_that_came_after_it(
    world: World, tmp_path: Path
) -> None:
    await new_full_site(world)
    file = await export(world, "full", tmp_path / "site.tar")
    ids, sites = NewIds(), []

    async def begin_again() -> None:
        [full] = await tenants_named(world, "full")
        await Leftovers(world.parts.records, world.parts.objects).remove(
            TenantId(ids.of(full["id"]))
        )
        done, site = await imported(world, file, slug="late", new_ids=ids)
        sites.append((done, site, await stored_files(world, done.tenant_id)))

    await import_interrupted(world, file, ids, begin_again)
    [(done, site, files)] = sites
    assert await read_all(world, done.tenant_id) == site
    assert await stored_files(world, done.tenant_id) == files
    [tenant] = await tenants_named(world, "late")
    [original] = await tenants_named(world, "full")
    owners = [each for each in original if original[each] and each.startswith("owner")]
    assert all(tenant[each] for each in owners)


async def tenants_named(world: World, slug: str) -> list[Record]:
    return await world.parts.records.find(registry["tenants"], {"slug": slug})


async def stored_files(world: World, tenant_id: str) -> list[str]:
    return sorted([key async for key in world.parts.objects.list_keys(tenant_id)])
