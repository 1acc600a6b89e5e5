"""Stored secrets: unreadable in the database, useless elsewhere, and renewed with the root."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.databases import run_apart
from tests.world import TenantWorld, World, open_world, records_of

from masthead.base.caller import system
from masthead.base.config.keyring import DecryptionError
from masthead.engine.records.collection import Record
from masthead.engine.records.rotation import BATCH, Rotated
from masthead.service.background import job_runner
from masthead.storage.urls import sqlite_path

OLD, NEW = "old-" * 10, "new-" * 10
PLAIN = "sk_live_do_not_read_me"


@asynccontextmanager
async def opened(url: str, folder: Path, roots: str) -> AsyncIterator[World]:
    world = await open_world(url, folder, MASTHEAD_SECRET_KEY=roots)
    try:
        yield world
    finally:
        await world.parts.close()


async def settings_of(world: World, tenant: TenantWorld) -> Record:
    collection = world.collection("site_settings")
    (record,) = await world.parts.records.find(collection, {}, tenant_id=tenant.id)
    return record


async def revealed(world: World, tenant: TenantWorld, name: str = "ai_api_key") -> str:
    record = await settings_of(world, tenant)
    return world.parts.records.reveal(world.collection("site_settings"), record, name)


def execute(url: str, statement: str) -> list[Any]:
    """Directly in the database, bypassing the service."""
    path = sqlite_path(url)
    if path is None:
        found: list[Any] = run_apart(lambda: _execute_postgres(url, statement))
        return found
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


async def _execute_postgres(url: str, statement: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()


async def test_a_secret_can_t_be_read_in_the_database_or_by_its_owner(
    world: World, database_url: str
) -> None:
    tenant = await world.new_tenant()
    owner = await tenant.owner()
    record = await settings_of(world, tenant)
    address = records_of("site_settings", record["id"])
    for answer in (
        await owner.api.patch(address, json={"ai_api_key": PLAIN}),
        await owner.api.get(address),
    ):
        assert answer.status_code == 200
        assert "ai_api_key" not in answer.json()
    assert await revealed(world, tenant) == PLAIN
    path = sqlite_path(database_url)
    if path is None:
        ((stored,),) = execute(database_url, "SELECT s::text FROM site_settings s")
        assert PLAIN not in stored
    else:
        files = [each.read_bytes() for each in path.parent.iterdir() if each.is_file()]
        assert any(b"v1." in each for each in files)
        assert not any(PLAIN.encode() in each for each in files)


@pytest.mark.parametrize("to_field", ["ai_api_key", "member_payment_secret_key"])
async def test_a_copied_ciphertext_does_not_decrypt(
    world: World, database_url: str, to_field: str
) -> None:
    ann, bob = await world.new_tenant(), await world.new_tenant()
    await ann.settings(ai_api_key=PLAIN)
    stored = (await settings_of(world, ann))["ai_api_key"]
    execute(
        database_url,
        f"UPDATE site_settings SET {to_field} = '{stored}' WHERE tenant_id = '{bob.id}'",
    )
    with pytest.raises(DecryptionError):
        await revealed(world, bob, to_field)
    assert await revealed(world, ann) == PLAIN


class TestRotation:
    async def test_the_old_root_secret_can_be_removed_afterwards(
        self, database_url: str, tmp_path: Path
    ) -> None:
        async with opened(database_url, tmp_path, OLD) as world:
            tenant = await world.new_tenant()
            await tenant.settings(ai_api_key=PLAIN, member_payment_secret_key="pay")
            token = (await tenant.owner()).token
        async with opened(database_url, tmp_path, f"{NEW},{OLD}") as world:
            assert await revealed(world, tenant) == PLAIN
            assert await world.parts.accounts.sessions.caller_of(token) is not None
            before = await settings_of(world, tenant)
            assert await world.parts.records.reencrypt_secrets() == Rotated(2, 0)
            assert await world.parts.records.reencrypt_secrets() == Rotated(0, 0)
            after = await settings_of(world, tenant)
            # Nothing that anyone can see has changed.
            assert {name for name in after if after[name] != before[name]} == {
                "ai_api_key",
                "member_payment_secret_key",
            }
        async with opened(database_url, tmp_path, NEW) as world:
            assert await revealed(world, tenant) == PLAIN
            assert await revealed(world, tenant, "member_payment_secret_key") == "pay"

    async def test_new_secrets_are_written_with_the_new_root(
        self, database_url: str, tmp_path: Path
    ) -> None:
        async with opened(database_url, tmp_path, f"{NEW},{OLD}") as world:
            tenant = await world.new_tenant()
            await tenant.settings(ai_api_key=PLAIN)
            assert await world.parts.records.reencrypt_secrets() == Rotated(0, 0)
        async with opened(database_url, tmp_path, NEW) as world:
            assert await revealed(world, tenant) == PLAIN

    async def test_the_worker_does_it_at_its_start(self, database_url: str, tmp_path: Path) -> None:
        async with opened(database_url, tmp_path, OLD) as world:
            tenant = await world.new_tenant()
            await tenant.settings(ai_api_key=PLAIN)
        async with opened(database_url, tmp_path, f"{NEW},{OLD}") as world:
            await job_runner(world.parts).do_chores()
        async with opened(database_url, tmp_path, NEW) as world:
            assert await revealed(world, tenant) == PLAIN

    async def test_undecryptable_secrets_are_counted_and_stay(
        self, database_url: str, tmp_path: Path
    ) -> None:
        async with opened(database_url, tmp_path, OLD) as world:
            tenant = await world.new_tenant()
            await tenant.settings(ai_api_key=PLAIN)
        async with opened(database_url, tmp_path, f"{NEW},{'other-' * 8}") as world:
            assert await world.parts.records.reencrypt_secrets() == Rotated(0, 1)
        async with opened(database_url, tmp_path, OLD) as world:
            assert await revealed(world, tenant) == PLAIN

    async def test_more_than_a_batch_while_others_set_new_secrets(
        self, database_url: str, tmp_path: Path
    ) -> None:
        count = BATCH + 20
        async with opened(database_url, tmp_path, OLD) as world:
            tenant = await world.new_tenant()
            hooks = world.collection("webhook_subscriptions")
            given = {"name": "n", "url": "https://example.com", "events": ["post.created"]}
            async with world.parts.records.unit(system(tenant.id)) as unit:
                made = [
                    await unit.create(hooks, given, stamped={"secret": f"old {number}"})
                    for number in range(count)
                ]
        async with opened(database_url, tmp_path, f"{NEW},{OLD}") as world:
            records = world.parts.records

            async def set_anew(number: int) -> None:
                stamped = {"secret": f"set {number}"}
                await records.update(
                    system(tenant.id), hooks, made[number]["id"], {}, stamped=stamped
                )

            await asyncio.gather(
                records.reencrypt_secrets(), *(set_anew(number) for number in range(0, count, 10))
            )
            assert (await records.reencrypt_secrets()).renewed == 0
        async with opened(database_url, tmp_path, NEW) as world:
            found = await world.parts.records.find(hooks, {}, tenant_id=tenant.id, limit=count)
            secrets = {
                each["id"]: world.parts.records.reveal(hooks, each, "secret") for each in found
            }
            assert secrets == {
                each["id"]: f"set {number}" if number % 10 == 0 else f"old {number}"
                for number, each in enumerate(made)
            }
