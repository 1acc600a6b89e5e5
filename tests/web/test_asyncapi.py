"""The events' description is accepted by AsyncAPI's own parser, and public."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.clients.node import HERE, run_node
from tests.engine.events.described import DOCUMENT, SCHEMAS, check_delivery, validate
from tests.service.cli.commands import call
from tests.web.routed import routed

from masthead.base.config.settings import Settings
from masthead.engine.events.names import EVENT_NAMES
from masthead.service.schema import registry
from masthead.web.asyncapi.endpoint import event_description_routes

ERROR, WARNING = 0, 1


async def parsed(document: Any, folder: Path) -> Any:
    path = folder / "asyncapi.json"
    path.write_text(json.dumps(document))
    finished = await run_node(HERE / "asyncapi.mjs", str(path))
    assert finished.code == 0, finished.errors
    return json.loads(finished.output)


async def test_the_official_parser_accepts_the_document(tmp_path: Path) -> None:
    found = await parsed(DOCUMENT, tmp_path)
    assert [each for each in found["diagnostics"] if each["severity"] <= WARNING] == []
    assert found["version"] == "1.0.0"
    assert sorted(found["sent"]) == sorted(EVENT_NAMES)


@pytest.mark.sweep
async def test_the_official_parser_would_see_a_mistake(tmp_path: Path) -> None:
    broken = copy.deepcopy(DOCUMENT)
    broken["operations"]["sendPostDeleted"]["messages"][0]["$ref"] = "#/channels/post.lost"
    found = await parsed(broken, tmp_path)
    assert any(each["severity"] == ERROR for each in found["diagnostics"])


def test_every_message_has_an_example_that_is_a_delivery() -> None:
    messages = DOCUMENT["components"]["messages"]
    assert len(messages) == len(EVENT_NAMES)
    for message in messages.values():
        (example,) = message["examples"]
        headers = {name.lower(): value for name, value in example["headers"].items()}
        body = json.dumps(example["payload"]).encode()
        assert check_delivery(headers, body) == message["name"]
        validate(SCHEMAS["DeliveryHeaders"], example["headers"])


def test_every_fact_is_described() -> None:
    for name, schema in SCHEMAS.items():
        for each in schema["properties"].values():
            assert "$ref" in each or each["description"], name


async def test_is_served_without_a_key() -> None:
    settings = Settings.from_environ({"MASTHEAD_BASE_URL": "https://example.com"})
    app = routed(event_description_routes(registry, settings))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="https://example.com"
    ) as client:
        answer = await client.get("/api/v1/asyncapi.json")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == DOCUMENT
        tag = {"If-None-Match": answer.headers["etag"]}
        assert (await client.get("/api/v1/asyncapi.json", headers=tag)).status_code == 304


def test_the_command_prints_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MASTHEAD_BASE_URL", "https://example.com")
    folder = tmp_path / "data"
    for options in ((), ("--json",)):
        printed = call(capfd, "asyncapi", "--data-dir", str(folder), *options)
        assert printed.json == DOCUMENT
    assert not folder.exists(), "a description needs no database"
