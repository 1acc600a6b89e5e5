"""The measurement of realtime in small: every client gets exactly what it may, in order."""

from __future__ import annotations

import os
from argparse import Namespace
from urllib.parse import urlsplit

from bench.realtime import Row, Work, _new_site, table
from tests.served import serving
from tests.world import World


async def test_every_client_gets_what_it_may(app: World) -> None:
    sites = [await _new_site(app.parts, f"heard-{number}") for number in range(2)]
    options = Namespace(clients=24, idle=0, per_second=100, seconds=1.5)
    async with serving(app.http) as url:
        port = urlsplit(url).port
        assert port is not None
        row = await Work(app.engine, port, os.getpid(), sites, options).run()
        app.parts.realtime.end_all()
        app.parts.realtime._is_closing = False
    assert row.wrong == 0
    assert row.messages > 24


def test_a_missed_target_is_told() -> None:
    row = Row("sqlite", 10, 5, 50, 0, 10.0, 249.0, 50.0, 10, 20.0)
    assert row.is_met
    assert "NOT MET" in table([row, Row("sqlite", 10, 5, 50, 1, 10.0, 249.0, 50.0, 10, 20.0)])
