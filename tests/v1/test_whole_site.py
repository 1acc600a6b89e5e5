"""The script of the docs runs a whole site with a key alone."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.v1.keys import key_client
from tests.v1.serving import serving_as_the_command_does
from tests.world import TenantWorld

from masthead.identity.api_keys import create_key

SCRIPT = Path(__file__).parents[2] / "docs" / "run_a_site.py"
SCOPES = (
    *("posts:read", "posts:write", "pages:write", "tiers:write", "members:write"),
    *("tags:read", "tags:write"),
    *("settings:write", "stats:read"),
)


async def test_the_script_runs_a_whole_site(tenant: TenantWorld) -> None:
    owner = await tenant.owner()
    _, key = await create_key(tenant.world.parts.records, tenant.id, "script", SCOPES)
    async with serving_as_the_command_does(tenant.world.http) as address:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(SCRIPT), address, key, owner.email),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    said = json.loads(output)
    assert said["posts"] == ["Clear sky", "Heavy rain"]
    assert (await tenant.guest.get(said["url"])).status_code == 200
    assert "Rain, fog" in (await tenant.guest.get("/tags/weather")).text
    for path in ("/about-us", "/2019/rain/"):
        assert (await tenant.guest.get(path)).status_code in (200, 301)
    api = await key_client(tenant)
    posts = (await api.get("/api/v1/posts", params={"sort": "title"})).json()["items"]
    assert posts[1]["authors"] == [owner.id]
    assert posts[0]["scheduled_for"]
    for name in ("pages", "tiers", "members", "redirects"):
        assert (await api.get(f"/api/v1/{name}")).json()["total"] == 1
