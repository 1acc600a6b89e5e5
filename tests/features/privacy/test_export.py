"""Exports: what is in them, who gets the link, how long it lives."""

from __future__ import annotations

import hashlib
import io
import zipfile
from typing import Any

import httpx
import msgspec
import pytest
from tests.features.privacy.people import member_with_records
from tests.features.privacy.requests import (
    EXPORT,
    mails_of,
    only_mail,
    outsider,
    request_of,
    run_jobs,
)
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.caller import system
from masthead.base.errors import NotFound
from masthead.engine.jobs.runner import MAX_ATTEMPTS, Job
from masthead.features.privacy.export import MAX_INLINE_BYTES, archive_key
from masthead.features.privacy.personal import ERASURE_RULES, ErasureRule, personal_fields
from masthead.features.privacy.requests import EXPORT_JOB
from masthead.service.schema import registry

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cf500f00038001014b7cb6a50000000049454e44ae426082"
)


async def download(world: World, url: str) -> bytes:
    answer = await world.client().get(url)
    assert answer.status_code == 200
    return answer.content


def opened(raw: bytes) -> tuple[zipfile.ZipFile, dict[str, Any]]:
    archive = zipfile.ZipFile(io.BytesIO(raw))
    assert archive.testzip() is None
    return archive, msgspec.json.decode(archive.read("manifest.json"))


async def test_a_tenants_export_holds_everything_and_its_manifest_agrees(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    for number in range(120):
        await tenant.post(title=f"Post {number}")
    uploaded = await owner.api.post(records_of("media"), files={"file": ("dot.png", PICTURE)})
    assert uploaded.status_code == 200
    answer = await owner.api.post(EXPORT, json={"type": "tenant"})
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == {"request_id", "status", "download_url", "expires_at"}
    assert body["status"] == "ready"
    archive, manifest = opened(await download(app, body["download_url"]))

    described = {each["name"]: each for each in manifest["collections"]}
    assert set(described) == {each.name for each in registry.collections}
    for each in described.values():
        raw = archive.read(each["path"])
        assert (len(raw), hashlib.sha256(raw).hexdigest()) == (each["bytes"], each["sha256"])
        assert len(msgspec.json.decode(raw)) == each["records"]
    posts = msgspec.json.decode(archive.read("data/posts.json"))
    assert {each["title"] for each in posts} == {f"Post {number}" for number in range(120)}
    (file,) = manifest["files"]
    assert archive.read(file["path"]) == PICTURE
    assert file["sha256"] == hashlib.sha256(PICTURE).hexdigest()
    assert manifest["missing_files"] == []
    assert len(archive.namelist()) == len(described) + 2


async def test_an_export_holds_no_secret_and_nothing_of_another_tenant(
    tenant: TenantWorld, owner: Account, other_tenant: TenantWorld, app: World
) -> None:
    await other_tenant.post(title="Somebody else's")
    answer = await owner.api.post(EXPORT, json={"type": "tenant"})
    archive, _ = opened(await download(app, answer.json()["download_url"]))
    everything = b"".join(archive.read(name) for name in archive.namelist())
    assert b"Somebody else's" not in everything
    assert other_tenant.id.encode() not in everything
    for hidden in (b"password_hash", b"token_key", b"token_hash", b"$argon2"):
        assert hidden not in everything


async def test_a_file_that_is_gone_is_named_as_missing(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    await owner.api.post(records_of("media"), files={"file": ("dot.png", PICTURE)})
    await app.parts.objects.delete_prefix(tenant.id)
    answer = await owner.api.post(EXPORT, json={"type": "tenant"})
    _, manifest = opened(await download(app, answer.json()["download_url"]))
    assert manifest["files"] == []
    assert len(manifest["missing_files"]) == 1


async def test_a_members_export_has_what_every_collection_holds_about_them(
    tenant: TenantWorld, owner: Account
) -> None:
    member, made = await member_with_records(tenant, "ada@example.com")
    await member_with_records(await tenant.world.new_tenant(), "ada@example.com")
    other = await tenant.member()
    await tenant.create("carts", {"email": other.email})
    answer = await owner.api.post(EXPORT, json={"type": "member", "member_id": member.id})
    data = answer.json()["inline_data"]
    assert data["member"]["name"] == "Ada Lovelace"
    of_members = {
        each.name
        for each in registry.collections
        if personal_fields(each) and ERASURE_RULES.get(each.name) is not ErasureRule.NOT_MEMBER_DATA
    }
    assert of_members == {"blog_members", *made}
    for name, record in made.items():
        assert record["id"] in [each["id"] for each in data["data"][name]], name
    assert [each["email"] for each in data["data"]["carts"]] == ["ada@example.com"]
    assert tenant.id not in answer.text
    assert "token_key" not in answer.text


def test_every_collection_with_personal_fields_has_an_erasure_rule() -> None:
    assert {each.name for each in registry.collections if personal_fields(each)} == set(
        ERASURE_RULES
    )


async def test_a_large_member_export_is_not_shown_inline(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    member = await tenant.member()
    post = await tenant.published()
    text = "x" * 5000
    for _ in range(MAX_INLINE_BYTES // 5000 + 1):
        values = {"post_id": post["id"], "author_name": "M", "author_email": member.email}
        await tenant.create("comments", values | {"body": text})
    answer = await owner.api.post(EXPORT, json={"type": "member", "member_id": member.id})
    assert answer.status_code == 200
    assert "inline_data" not in answer.json()
    document = msgspec.json.decode(await download(app, answer.json()["download_url"]))
    assert len(document["data"]["comments"]) == MAX_INLINE_BYTES // 5000 + 1


async def test_by_header_alone_only_the_member_gets_the_link(
    tenant: TenantWorld, member: Account, owner: Account, app: World
) -> None:
    asked = {"type": "member", "member_id": member.id, "notify_email": "eve@example.com"}
    answer = await outsider(tenant).post(EXPORT, json=asked)
    body = answer.json()
    assert set(body) == {"request_id", "status", "download_url", "expires_at"}
    assert "token" not in body["download_url"]
    assert (await app.client().get(body["download_url"])).status_code == 404
    mail = await only_mail(app, tenant.id)
    assert mail.to == member.email
    assert member.email.encode() in await download(app, mail.link(body["request_id"]))


async def test_the_ready_email_also_goes_to_the_notify_email_of_a_session(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    asked = {"type": "tenant", "notify_email": "Helper@Example.com", "blog_name": "My diary"}
    answer = await owner.api.post(EXPORT, json=asked)
    sent = await mails_of(app, tenant.id)
    assert {mail.to for mail in sent} == {owner.email, "helper@example.com"}
    for mail in sent:
        assert mail.rendered.subject == "Your data from My diary is ready"
        assert answer.json()["download_url"] == "http://localhost" + mail.link(
            answer.json()["request_id"]
        )


async def ask_the_worker(app: World, owner: Account) -> httpx.Response:
    """Asks for an export that no request has the time for."""
    exports = app.parts.privacy.exports
    timeout, exports.inline_timeout_seconds = exports.inline_timeout_seconds, 0
    try:
        return await owner.api.post(EXPORT, json={"type": "tenant"})
    finally:
        exports.inline_timeout_seconds = timeout


async def test_an_export_that_takes_too_long_is_queued_and_mailed(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    await tenant.post()
    answer = await ask_the_worker(app, owner)
    assert answer.status_code == 202
    body = answer.json()
    assert set(body) == {"request_id", "status"}
    assert body["status"] == "queued"
    assert await mails_of(app, tenant.id) == []

    request = await request_of(app, body["request_id"])
    await app.parts.privacy.exports.build(request, "")
    mail = await only_mail(app, tenant.id)
    assert mail.to == owner.email
    opened(await download(app, mail.link(body["request_id"])))
    # The queued job finds nothing left to do.
    await run_jobs(app)
    assert (await request_of(app, body["request_id"]))["token_hash"] != request["token_hash"]
    opened(await download(app, mail.link(body["request_id"])))


async def test_the_worker_builds_an_export_that_a_crash_interrupted(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    answer = await ask_the_worker(app, owner)
    await run_jobs(app)
    assert (await request_of(app, answer.json()["request_id"]))["status"] == "ready"


async def test_an_export_that_ends_the_worker_each_time_fails_at_last(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    answer = await ask_the_worker(app, owner)
    payload = {"request_id": answer.json()["request_id"], "blog_name": ""}
    job = Job(tenant.id, "x", EXPORT_JOB, payload, MAX_ATTEMPTS)
    await app.parts.privacy.work.handlers()[EXPORT_JOB](job)
    assert (await request_of(app, payload["request_id"]))["status"] == "failed"


async def test_an_archive_does_not_outlive_the_request_it_was_made_for(
    app: World, tenant: TenantWorld, owner: Account
) -> None:
    """An erasure deletes the requests first, and may end before an export that is being built."""
    answer = await ask_the_worker(app, owner)
    request = await request_of(app, answer.json()["request_id"])
    records, caller = app.parts.records, system(tenant.id)
    async with records.unit(caller) as unit:
        await unit.delete(app.collection("gdpr_requests"), request["id"])
    await app.parts.privacy.exports.build(request, "")
    assert [key async for key in app.parts.objects.list_keys(tenant.id)] == []


async def test_a_link_lives_seven_days_and_its_archive_no_longer(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    body = (await owner.api.post(EXPORT, json={"type": "tenant"})).json()
    request = await request_of(app, body["request_id"])
    app.clock.advance(days=6, hours=23)
    await app.parts.privacy.work.sweep()
    await download(app, body["download_url"])
    app.clock.advance(hours=1)
    assert (await app.client().get(body["download_url"])).status_code == 404
    await app.parts.privacy.work.sweep()
    with pytest.raises(NotFound):
        await app.parts.objects.head(archive_key(request))
    assert (await request_of(app, body["request_id"]))["status"] == "expired"


async def test_of_exports_without_a_session_only_the_newest_is_stored(
    tenant: TenantWorld, owner: Account, app: World
) -> None:
    asking = outsider(tenant)
    first, second = [
        (await asking.post(EXPORT, json={"type": "tenant"})).json()["request_id"] for _ in range(2)
    ]
    assert (await request_of(app, first))["status"] == "expired"
    assert (await request_of(app, second))["status"] == "ready"
