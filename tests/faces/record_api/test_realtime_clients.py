"""Many realtime clients at once, each of which hears only what it may."""

from __future__ import annotations

from urllib.parse import urlsplit

from tests.faces.record_api.realtime_clients import Work, new_site
from tests.served import serving
from tests.world import World


async def test_every_realtime_client_gets_what_it_may(app: World) -> None:
    sites = [await new_site(app.parts, f"heard-{number}") for number in range(2)]
    async with serving(app.http) as url:
        port = urlsplit(url).port
        assert port is not None
        found = await Work(port, sites, clients=24, per_second=100).run(1.5)
        app.parts.realtime.end_all()
        app.parts.realtime._is_closing = False
    assert [each.heard for each in found] == [each.expected for each in found]
    assert sum(len(each.heard) for each in found) > 24
