"""The first JavaScript example of docs/record-store.md runs in Node.js as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.clients.node import HERE, run_node
from tests.served import serving
from tests.world import PASSWORD, TenantWorld, World

PAGE = HERE.parents[1] / "docs" / "record-store.md"


async def test_the_first_example_creates_a_post(
    app: World, tenant: TenantWorld, tmp_path: Path
) -> None:
    owner = await tenant.owner()
    example = re.search(r"^```js\n(.+?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert example is not None
    async with serving(app.http) as url:
        # Imports are found in the folder of the script.
        (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
        script = tmp_path / "example.mjs"
        given = f"const [email, password] = {[owner.email, PASSWORD]};\n"
        code = example[1].replace("http://127.0.0.1:8000", url)
        assert url in code
        script.write_text(given + code)
        finished = await run_node(script)
    assert (finished.code, finished.errors) == (0, "")
    listed = (await tenant.guest.get("/api/collections/posts/records")).json()
    assert [item["title"] for item in listed["items"]] == ["Hello"]
