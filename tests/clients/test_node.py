"""The Node.js of the lock runs PocketBase's client; nothing else on the machine is needed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.clients.node import HERE, run_node


async def test_pocketbases_client_loads() -> None:
    finished = await run_node(HERE / "loads.mjs", "http://127.0.0.1:1", env={"PATH": ""})
    assert finished.errors == ""
    assert finished.output == "http://127.0.0.1:1/api/health\n"
    assert finished.code == 0


async def test_a_failing_script_tells_why(tmp_path: Path) -> None:
    script = tmp_path / "fails.mjs"
    script.write_text('throw new Error("no luck")')
    finished = await run_node(script)
    assert finished.code == 1
    assert "no luck" in finished.errors


def test_the_lock_holds_hashes_and_no_registry() -> None:
    packages = json.loads((HERE / "package-lock.json").read_text())["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert installed
    assert all(package["integrity"].startswith("sha512-") for package in installed.values())
    assert not any("resolved" in package for package in installed.values())
