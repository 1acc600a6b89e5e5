"""Two editors of one text, and whatever happens to them: edits, reloads, closes, crashes, delays,
lost answers. Every word that was typed is in the post, among its revisions, or on offer.

The editor's own saving runs in Node, with a model of the browser around it: see
`faces/admin/editor/tests/model/`. To play a history again: `node run.ts 1 <its seed>`.
"""

from __future__ import annotations

import json
import logging
import secrets
from pathlib import Path

import pytest
from tests.clients.node import run_node
from tests.conftest import Server

from masthead.faces import admin

MODEL = Path(admin.__file__).parent / "editor" / "tests" / "model" / "run.ts"

_log = logging.getLogger(__name__)


@pytest.mark.parametrize("number", [100, pytest.param(2_000, marks=pytest.mark.sweep)])
async def test_no_word_is_lost_in_any_history(number: int) -> None:
    finished = await run_node(MODEL, str(number), str(secrets.randbelow(10**9)))
    # The seed, with which they can be played again.
    _log.info(finished.output)
    assert finished.code == 0, finished.output + finished.errors
    assert f"{number} histories" in finished.output


@pytest.mark.parametrize("number", [2, pytest.param(12, marks=pytest.mark.sweep)])
async def test_nor_with_the_real_server(server: Server, tmp_path: Path, number: int) -> None:
    """Each history makes hundreds of requests."""
    tenant = server.tenant
    accounts = {
        name: await tenant.owner(name=name, role=role)
        for name, role in (("site/ann", "owner"), ("site/bob", "editor"), ("program", "owner"))
    }
    place = {
        "url": server.url,
        "accounts": {
            name: {"owner": f"{tenant.id}/{each.id}", "token": each.token}
            for name, each in accounts.items()
        },
    }
    file = tmp_path / "place.json"
    file.write_text(json.dumps(place))
    finished = await run_node(MODEL, str(number), str(secrets.randbelow(10**9)), str(file))
    _log.info(finished.output)
    assert finished.code == 0, finished.output + finished.errors
