"""From a bare folder to a site over HTTPS and its restored backup, by one script."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.databases import empty_postgres_url
from tests.install.bare import Bare
from tests.install.proxies import free_ports, needs_caddy
from tests.object_stores import S3Server

pytestmark = [pytest.mark.sweep, pytest.mark.xdist_group("install")]

SCRIPT = Path(__file__).with_name("first_server.sh")


@needs_caddy
def test_one_script_does_it_all(bare: Bare, s3_server: S3Server) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is missing: install curl, as .ci/run does")
    told = {
        "DIST": str(bare.dist),
        "BACKUP": f"{s3_server.new_url()}/masthead.tar",
        "POSTGRES": empty_postgres_url(),
        "PORTS": " ".join(map(str, free_ports(3))),
        **s3_server.environ,
    }
    log = bare.folder / "first_server.log"
    with log.open("w") as output:
        done = subprocess.run(
            [SCRIPT], cwd=bare.folder, env={**bare.environ, **told}, stdout=output, stderr=output
        )
    printed = log.read_text()
    assert done.returncode == 0, printed[-5000:]
    assert "Done: https://garden.example is served from PostgreSQL" in printed
    for part in ("post.json", "picture"):
        before, after = (bare.folder / each / part for each in ("before", "after"))
        assert before.read_bytes() == after.read_bytes() != b""
    # Not the SQLite file that the service began with.
    assert not list((bare.folder / "restored").glob("*.db"))
