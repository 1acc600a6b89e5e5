"""`pocketbase-typegen`, as it comes from its registry: the types that it makes of a running service
compile, and a client can use them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clients.node import HERE, run_node
from tests.conftest import Server
from tests.world import PASSWORD

MODULES = HERE / "node_modules"
USE = """
import PocketBase from "pocketbase";
import { Collections, type PostsResponse, type TypedPocketBase } from "./types.js";

const client = new PocketBase("http://127.0.0.1") as TypedPocketBase;
export async function titles(): Promise<string[]> {
  const posts: PostsResponse[] = await client.collection(Collections.Posts).getFullList();
  return posts.map((post) => post.title);
}
export async function names(): Promise<(string | undefined)[]> {
  const members = await client.collection("blog_members").getFullList();
  return members.map((member) => member.name);
}
"""
WRONG = """
import { type PostsResponse } from "./types.js";
export const post: PostsResponse = { title: 1 };
"""
STRICT = (
    *("--strict", "--noEmit", "--target", "es2022", "--module", "nodenext"),
    *("--moduleResolution", "nodenext", "--lib", "es2022,dom"),
)


@pytest.mark.sweep
async def test_its_types_compile_strictly(server: Server, tmp_path: Path) -> None:
    owner = await server.tenant.owner()
    made = await run_node(
        MODULES / "pocketbase-typegen" / "dist" / "cli.js",
        *("--url", server.url, "--email", owner.email, "--password", PASSWORD),
        *("--out", str(tmp_path / "types.ts")),
    )
    assert made.code == 0, made.errors + made.output
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    for name, text, code in (("use.ts", USE, 0), ("wrong.ts", WRONG, 2)):
        (tmp_path / name).write_text(text)
        compiler = MODULES / "typescript" / "bin" / "tsc"
        compiled = await run_node(compiler, *STRICT, str(tmp_path / name))
        assert compiled.code == code, compiled.output
