"""A refusal that comes before the body is sent reaches Node's clients over our own server."""

from __future__ import annotations

from tests.clients.node import HERE, run_node
from tests.service.serve.peer import serving
from tests.world import TenantWorld


async def test_node_sees_the_status_of_each_refusal(tenant: TenantWorld) -> None:
    member = await tenant.member()
    async with serving(tenant.world.http) as served:
        address = f"http://127.0.0.1:{served.port}"
        finished = await run_node(HERE / "refusals.mjs", address, member.token)
    assert finished.errors == ""
    assert finished.code == 0
    assert finished.output.count("ok ") == 5
