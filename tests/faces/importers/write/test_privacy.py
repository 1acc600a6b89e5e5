"""Data that an import stores about a person is erased with the person; about a tenant, with the
tenant."""

from __future__ import annotations

import msgspec
from tests.faces.importers.write.exports import WrittenExport, imported, new_run, post, rows
from tests.features.privacy.requests import DELETE, deletion, member_deletion, run_jobs
from tests.world import Account, TenantWorld

from masthead.faces.importers.source import Skipped, SourceMember

EMAIL = f"{'a' * 60}@{'long-label.' * 15}example"


async def test_an_erased_member_is_not_remembered(tenant: TenantWorld, owner: Account) -> None:
    readers = [
        SourceMember(EMAIL, name="Ada"),
        Skipped("member", EMAIL, "repeated"),
        Skipped("member", "row 3", "invalid address", title=f"{EMAIL},"),
        SourceMember("else@example.com"),
    ]
    await imported(tenant, WrittenExport([post(1)], readers), log=await new_run(tenant))
    found = {row["email"]: row["id"] for row in await rows(tenant, "blog_members")}

    answer = await owner.api.post(DELETE, json=member_deletion(found[EMAIL]))
    assert answer.status_code == 202, answer.text
    tenant.world.clock.advance(days=31)
    await run_jobs(tenant.world)

    remembered = {row["source_id"] for row in await rows(tenant, "import_items")}
    assert remembered == {"post:id-1", "redirect:/post-1/", "member:else@example.com"}
    assert EMAIL not in msgspec.json.encode(await rows(tenant, "import_runs")).decode()


async def test_an_erased_tenant_leaves_nothing(tenant: TenantWorld, owner: Account) -> None:
    await imported(tenant, WrittenExport([post(1)]), log=await new_run(tenant))
    answer = await owner.api.post(DELETE, json=deletion(tenant))
    assert answer.status_code == 202, answer.text
    tenant.world.clock.advance(days=31)
    await run_jobs(tenant.world)
    for table in ("posts", "redirects", "import_runs", "import_items"):
        assert await rows(tenant, table) == []
