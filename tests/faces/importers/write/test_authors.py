"""Authors of an export are staff of the site, found by their e-mail addresses, and sign their
posts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.faces.importers.write.exports import (
    CutOff,
    WrittenExport,
    everything,
    imported,
    new_run,
    post,
    rows,
)
from tests.world import PASSWORD, Account, TenantWorld, records_of

from masthead.faces.importers.source import Skipped, SourceAuthor
from masthead.faces.importers.write.author_batches import KNOWN
from masthead.faces.importers.write.batches import DELETED, UNCHANGED

ADA = SourceAuthor("ada", "ada@example.com", "Ada Lovelace", "First.")
BOB = SourceAuthor("bob@old.example", "bob@example.com", "Bob")


def export(*writers: SourceAuthor | Skipped, **values: Any) -> WrittenExport:
    posts = [
        post(1, authors=("bob@old.example", "ada")),
        post(2, authors=("ada", "nobody")),
        post(3),
    ]
    return WrittenExport(posts, writers=writers, **values)


async def staff(tenant: TenantWorld) -> dict[str, dict[str, Any]]:
    return {row["email"]: row for row in await rows(tenant, "_superusers")}


async def authors_by_slug(tenant: TenantWorld) -> dict[str, list[str]]:
    by_id = {row["id"]: row["email"] for row in await rows(tenant, "_superusers")}
    return {
        row["slug"]: [by_id[each] for each in msgspec.json.decode(row["authors"])]
        for row in await rows(tenant, "posts")
    }


async def test_new_authors_come_without_a_password_and_sign_their_posts(
    tenant: TenantWorld, owner: Account
) -> None:
    source = export(ADA, BOB, Skipped("author", "", "without a usable email address"))
    dry = await imported(tenant, source, dry_run=True)
    assert list(await staff(tenant)) == [owner.email]
    report = await imported(tenant, source)
    found = await staff(tenant)
    ada = found["ada@example.com"]
    assert (ada["role"], ada["name"], ada["bio"]) == ("author", "Ada Lovelace", "First.")
    assert (ada["slug"], ada["password_hash"]) == ("ada-lovelace", "")
    assert ada["token_key"]
    assert await authors_by_slug(tenant) == {
        "post-1": ["bob@example.com", "ada@example.com"],
        "post-2": ["ada@example.com"],
        "post-3": [],
    }
    counts = {"imported": 2, "skipped": 1, "failed": 0, "updated": 0}
    assert report.summary()["authors"] == dry.summary()["authors"] == counts
    assert "@" not in msgspec.json.encode(report.full(())).decode()
    credentials = {"identity": "ada@example.com", "password": PASSWORD}
    answer = await tenant.guest.post("/api/admins/auth-with-password", json=credentials)
    assert answer.status_code == 400


async def test_a_second_run_changes_nothing(tenant: TenantWorld, owner: Account) -> None:
    source = export(ADA, BOB)
    await imported(tenant, source)
    before = (await everything(tenant), await staff(tenant))
    again = await imported(tenant, source)
    assert (await everything(tenant), await staff(tenant)) == before
    assert again.authors.skipped == {KNOWN: 2}
    assert again.posts.skipped == {UNCHANGED: 3}


async def test_staff_with_the_address_are_meant_and_stay_as_they_are(
    tenant: TenantWorld, owner: Account
) -> None:
    editor = await tenant.owner(email="ada@example.com", role="editor", name="Countess")
    report = await imported(tenant, export(ADA))
    found = (await staff(tenant))["ada@example.com"]
    assert (found["id"], found["role"], found["name"]) == (editor.id, "editor", "Countess")
    assert report.authors.skipped == {KNOWN: 1}
    assert (await authors_by_slug(tenant))["post-2"] == ["ada@example.com"]
    one = records_of("_superusers", editor.id)
    assert (await owner.api.patch(one, json={"email": "countess@example.com"})).is_success
    again = await imported(tenant, export(ADA))
    assert again.authors.skipped == {KNOWN: 1}
    assert "ada@example.com" not in await staff(tenant)


async def test_one_who_was_deleted_here_does_not_come_back(
    tenant: TenantWorld, owner: Account
) -> None:
    await imported(tenant, export(ADA, BOB))
    ada = (await staff(tenant))["ada@example.com"]
    assert (await owner.api.delete(records_of("_superusers", ada["id"]))).status_code == 204
    again = await imported(tenant, export(ADA, BOB))
    assert again.authors.skipped == {DELETED: 1, KNOWN: 1}
    assert "ada@example.com" not in await staff(tenant)
    assert (await authors_by_slug(tenant))["post-2"] == []


async def test_posts_that_came_without_authors_get_them_later(
    tenant: TenantWorld, owner: Account
) -> None:
    plain = [post(number) for number in (1, 2, 3)]
    await imported(tenant, WrittenExport(plain))
    report = await imported(tenant, export(ADA))
    assert (report.posts.updated, report.posts.skipped) == (2, {UNCHANGED: 1})
    assert (await authors_by_slug(tenant))["post-2"] == ["ada@example.com"]
    await imported(tenant, WrittenExport(plain))
    assert (await authors_by_slug(tenant))["post-2"] == ["ada@example.com"]


async def test_a_run_that_was_cut_off_counts_authors_once(
    tenant: TenantWorld, owner: Account
) -> None:
    log = await new_run(tenant)
    with pytest.raises(CutOff):
        await imported(tenant, export(ADA, breaks_after=1), log=log, batch_size=1)
    report = await imported(tenant, export(ADA), log=log, batch_size=1)
    assert report.summary()["authors"]["imported"] == 1
    assert (await authors_by_slug(tenant))["post-2"] == ["ada@example.com"]
