from __future__ import annotations

import pytest
from tests.faces.site_export.filled import Filled, fill
from tests.world import TenantWorld


@pytest.fixture
async def filled(tenant: TenantWorld) -> Filled:
    return await fill(tenant)
