"""Measurements of one feature in small: what they count as right is right."""

from __future__ import annotations

import os
from argparse import Namespace
from urllib.parse import urlsplit

import pytest
from bench.realtime import Work, new_site
from bench.special import place
from tests.served import serving
from tests.world import World

from bench import privacy


async def test_every_realtime_client_gets_what_it_may(app: World) -> None:
    sites = [await new_site(app.parts, f"heard-{number}") for number in range(2)]
    options = Namespace(clients=24, idle=0, per_second=100, seconds=1.5)
    async with serving(app.http) as url:
        port = urlsplit(url).port
        assert port is not None
        figures = await Work(port, os.getpid(), sites, options).run()
        app.parts.realtime.end_all()
        app.parts.realtime._is_closing = False
    found = {each.name: each.value for each in figures}
    assert found["clients with wrong messages"] == 0
    assert found["messages"] > 24


@pytest.mark.sweep
def test_a_whole_erasure_leaves_no_address() -> None:
    given = Namespace(posts=40, members=25, comments=8, media=1, quiet=0.5)
    with place("sqlite") as installed:
        found = {each.name: each for each in privacy.measured(installed, given)}
    assert found["its archive"].value >= 8
    assert found["addresses in the files"].value == 0
    assert found["another site's calls that failed during the erasure"].value == 0
