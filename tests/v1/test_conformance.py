"""Tools of others take the API's description at its word, and the running service keeps it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.clients.node import HERE as CLIENTS
from tests.clients.node import run_node
from tests.databases import fresh_url
from tests.v1.serving import serving_as_the_command_does, unlimited_world

from masthead.base.config.settings import Settings
from masthead.identity.api_keys import create_key
from masthead.identity.scopes import SCOPES
from masthead.service.app import SERVICE_PARTS, V1_TABLE
from masthead.service.schema import registry
from masthead.web.openapi.public_api import build_document
from masthead.web.openapi.service import build_service_document

pytestmark = pytest.mark.sweep

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Apart from the rest, because it needs older versions of packages than we do.
GENERATOR = Path(sys.prefix) / "client-generator"


@dataclass(frozen=True)
class Served:
    """The API on a real port, a key to all of it, and a post to write comments under."""

    url: str
    key: str
    post_id: str
    owner_token: str


@pytest.fixture(params=["sqlite", "postgresql"])
async def served(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    url = fresh_url(request.param, tmp_path)
    async with unlimited_world(url, tmp_path) as world:
        tenant = await world.new_tenant("demo", slug="demo")
        post = await tenant.published()
        await tenant.create("comments", {"post_id": post["id"], "author_name": "Ada", "body": "Hi"})
        await tenant.member()
        await tenant.settings(
            member_payment_webhook_secret="whsec_of_the_tenant",
            # Without a provider only short requests are checked. Nothing listens on this port.
            ai_api_key="sk-conformance",
            ai_base_url="http://127.0.0.1:9/v1",
        )
        owner = await tenant.owner()
        _, key = await create_key(world.parts.records, tenant.id, "all", list(SCOPES))
        world.clock.advance(seconds=1)
        async with serving_as_the_command_does(world.http) as address:
            yield Served(address, key, post["id"], owner.token)


async def run(*command: str | Path, cwd: Path, env: dict[str, str]) -> tuple[int, str]:
    """A program to its end, without holding up the loop that the service runs on."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=cwd,
        env={**os.environ, **env},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, output.decode()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(build_document(V1_TABLE, Settings.from_environ({}))))
    return path


async def test_schemathesis_finds_nothing(served: Served, tmp_path: Path) -> None:
    code, output = await run(
        Path(sys.executable).with_name("schemathesis"),
        *("--config-file", HERE / "schemathesis.toml"),
        *("run", f"{served.url}/api/v1/openapi.json", "--url", served.url, "--checks", "all"),
        *("--header", f"Authorization: Bearer {served.key}"),
        cwd=tmp_path,
        env={
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.v1.schemathesis_hooks",
            "CONFORMANCE_POST": served.post_id,
        },
    )
    assert code == 0, output
    assert f"Tested: {len(V1_TABLE)}\n" in output, output


async def test_schemathesis_finds_nothing_in_the_other_addresses(
    served: Served, tmp_path: Path
) -> None:
    described = build_service_document(SERVICE_PARTS, registry, Settings.from_environ({}))["paths"]
    code, output = await run(
        Path(sys.executable).with_name("schemathesis"),
        *("--config-file", HERE / "schemathesis_service.toml"),
        *("run", f"{served.url}/api/openapi.json", "--url", served.url),
        *("--header", f"Authorization: Bearer {served.owner_token}"),
        cwd=tmp_path,
        env={},
    )
    assert code == 0, output
    left_out = 1  # the stream of realtime
    assert f"Tested: {sum(map(len, described.values())) - left_out}\n" in output, output


async def test_a_generated_python_client_works(
    served: Served, document: Path, tmp_path: Path
) -> None:
    package = tmp_path / "masthead_api_client"
    config = tmp_path / "generator.json"
    config.write_text('{"post_hooks": []}')
    code, output = await run(
        *(sys.executable, "-m", "openapi_python_client", "generate", "--path", document),
        *("--meta", "none", "--output-path", package, "--config", config, "--fail-on-warning"),
        cwd=tmp_path,
        env={"PYTHONPATH": str(GENERATOR)},
    )
    assert code == 0, output
    code, output = await run(
        *(sys.executable, HERE / "generated_client.py", served.url, served.key),
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert code == 0, output


async def test_generated_typescript_types_compile(document: Path, tmp_path: Path) -> None:
    modules = CLIENTS / "node_modules"
    types = tmp_path / "api.d.ts"
    made = await run_node(
        modules / "openapi-typescript/bin/cli.js",
        *(str(document), "--output", str(types)),
        # Otherwise it takes a field with a default for one that must be sent.
        "--default-non-nullable=false",
    )
    assert made.code == 0, made.errors
    usage = Path(shutil.copy(HERE / "generated_types.ts", tmp_path))
    compiled = await run_node(
        modules / "typescript/bin/tsc", "--noEmit", "--strict", "--target", "es2022", str(usage)
    )
    assert compiled.code == 0, compiled.output
