"""Imports in the admin: the list, and for whom."""

from __future__ import annotations

import pytest
from tests.admin.visitor import Visitor, staff
from tests.importers.run.exports import new_run
from tests.world import TenantWorld

ADDRESS = "/admin/tools/import"


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


class TestList:
    async def test_an_import_from_a_shell_is_listed_with_why_it_failed(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        log = await new_run(tenant)
        await log.fail("The file is <cut> off.")
        page = (await browser.get(ADDRESS)).text
        assert "export.json" in page
        assert "The file is &lt;cut&gt; off." in page
        assert "Failed" in page

    async def test_a_failed_import_leads_there_from_home(
        self, tenant: TenantWorld, browser: Visitor
    ) -> None:
        log = await new_run(tenant)
        await log.fail("The file is cut off.")
        assert f'href="{ADDRESS}"' in (await browser.get("/admin")).text.split("<main")[1]

    async def test_only_owners_have_it(self, tenant: TenantWorld, browser: Visitor) -> None:
        assert ADDRESS in (await browser.get("/admin/more")).text
        for role in ("editor", "author"):
            other, _ = await staff(tenant, role)
            assert (await other.get(ADDRESS)).status_code == 404
            assert ADDRESS not in (await other.get("/admin/more")).text
