"""The page of all methods of PocketBase's JavaScript client: complete, and true of what is
refused."""

from __future__ import annotations

import re
from pathlib import Path

from tests.clients.node import HERE, run_node
from tests.conftest import Server

TESTS = HERE.parent
PAGE = TESTS.parent / "docs" / "record-store-methods.md"
ROW = re.compile(r"\| `([^`]+)` \| (same|different|refused) \|(.*?)\| `([^`]+)` \|\Z")
NOT_CALLED = {"collection().authWithOAuth2"}
"""Opens a window before it calls anything."""


def rows() -> dict[str, tuple[str, str, Path]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    found = [ROW.match(line) for line in lines]
    assert all(found), [line for line, each in zip(lines, found, strict=True) if not each]
    return {each[1]: (each[2], each[3], TESTS / each[4]) for each in found if each}


async def test_the_page_has_every_method_and_a_test_for_each() -> None:
    finished = await run_node(HERE / "sdk_methods.mjs")
    assert (finished.code, finished.errors) == (0, "")
    assert set(rows()) == set(finished.output.split())
    assert [each for each, (_, _, test) in rows().items() if not test.is_file()] == []


async def test_what_differs_or_is_refused_says_why() -> None:
    assert [each for each, (is_, why, _) in rows().items() if is_ != "same" and not why] == []


async def test_what_the_page_calls_refused_is_refused(server: Server) -> None:
    owner = await server.tenant.owner()
    finished = await run_node(HERE / "refused_services.mjs", server.url, owner.token)
    assert finished.code == 0, finished.errors
    answers = dict(line.rsplit(" ", 1) for line in finished.output.splitlines())
    refused = {name for name, (is_, _, _) in rows().items() if is_ == "refused"}
    assert set(answers) == refused - NOT_CALLED
    assert {
        name: status for name, status in answers.items() if status not in ("400", "403", "404")
    } == {}
