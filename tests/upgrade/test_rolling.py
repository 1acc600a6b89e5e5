"""Old and new code on one PostgreSQL at the same time: safe, or refused before it starts.

The new code is a copy of this one with one more migration.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from tests.databases import empty_postgres_url
from tests.service.cli.commands import Masthead, plain_environment
from tests.service.cli.running import Running, serving

import masthead
from masthead.storage.migrate import HEAD
from masthead.storage.migrations.run import configuration, not_rolling, postgres_script

NEXT = f"{int(HEAD) + 1:04}"

_MIGRATION = """
import sqlalchemy as sa
from alembic import op
from masthead.storage import dialects as types

revision, down_revision, rolling = "{next}", "{head}", {rolling}


def upgrade() -> None:
    op.add_column("posts", sa.Column("mood", types.Text(), server_default="calm", nullable=False))
"""


def new_code(folder: Path, *, rolling: bool) -> Path:
    """The program of the new version."""
    package = folder / "new" / "masthead"
    leave = shutil.ignore_patterns("__pycache__", "node_modules")
    shutil.copytree(Path(masthead.__file__).parent, package, ignore=leave)
    versions = package / "storage" / "migrations" / "versions"
    migration = _MIGRATION.format(next=NEXT, head=HEAD, rolling=rolling)
    (versions / f"r{NEXT}_mood.py").write_text(migration)
    knows = package / "storage" / "migrate.py"
    knows.write_text(knows.read_text().replace(f'HEAD = "{HEAD}"', f'HEAD = "{NEXT}"'))
    program = folder / "new-masthead"
    run = f'PYTHONPATH={package.parent} exec {sys.executable} -m masthead "$@"'
    program.write_text(f"#!/bin/sh\n{run}\n")
    program.chmod(0o755)
    return program


@contextmanager
def old_service(tmp_path: Path, url: str) -> Iterator[tuple[Running, dict[str, str]]]:
    command = Masthead(url, tmp_path / "old", None)  # type: ignore[arg-type]
    created = command.piped("correct horse", *_TENANT)
    assert created.code == 0, created.err
    made = command.piped("", *_KEY)
    bearer = {"Authorization": f"Bearer {made.json['key']}"}
    with serving(tmp_path / "old", "--database-url", url) as running:
        write(running, bearer, "Before")
        yield running, bearer


_TENANT = (
    *("tenant", "create", "--slug", "acme", "--name", "Acme", "--plan", "enterprise"),
    *("--owner-email", "owner@acme.example", "--owner-password", "-"),
)
_KEY = (
    *("key", "create", "--tenant", "acme", "--name", "k", "--json"),
    *("--scope", "posts:read", "--scope", "posts:write"),
)


def write(running: Running, bearer: dict[str, str], title: str) -> None:
    body = {"title": title, "content_html": "<p>x</p>", "status": "published"}
    made = running.post("/api/v1/posts", body, "acme", **bearer)
    assert made.status_code == 201, made.text


def titles(running: Running, bearer: dict[str, str]) -> set[str]:
    listed = running.get("/api/v1/posts", "acme", **bearer)
    assert listed.status_code == 200, listed.text
    return {each["title"] for each in listed.json()["items"]}


@pytest.mark.sweep
def test_both_versions_serve_during_a_rolling_upgrade(tmp_path: Path) -> None:
    url, program = empty_postgres_url(), new_code(tmp_path, rolling=True)
    with old_service(tmp_path, url) as (old, bearer):
        shutil.copytree(tmp_path / "old", tmp_path / "new-data")
        with serving(tmp_path / "new-data", "--database-url", url, program=program) as new:
            for number in range(5):
                write(old, bearer, f"Old {number}")
                write(new, bearer, f"New {number}")
                assert titles(old, bearer) == titles(new, bearer)
        assert len(titles(old, bearer)) == 11


@pytest.mark.sweep
def test_a_migration_that_is_not_rolling_waits_for_older_processes(tmp_path: Path) -> None:
    url, program = empty_postgres_url(), new_code(tmp_path, rolling=False)
    with old_service(tmp_path, url) as (old, bearer):
        refused = migrate(program, tmp_path, url)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert f"can't work with migration {NEXT}" in refused.stderr
        write(old, bearer, "Still here")
    # It has said that it is leaving.
    done = migrate(program, tmp_path, url)
    assert (done.returncode, done.stderr) == (0, "")
    assert NEXT in done.stdout


def migrate(program: Path, folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, "migrate", "--data-dir", folder / "old", "--database-url", url],
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


ADDITIVE = re.compile(
    r"""
    BEGIN | COMMIT
    | CREATE\ TABLE\ .* | CREATE\ INDEX\ .* | CREATE\ POLICY\ .*
    # Another index changes no answer.
    | DROP\ INDEX\ .*
    | ALTER\ TABLE\ \w+\ ADD\ COLUMN\ .*
    | ALTER\ TABLE\ \w+\ (ENABLE|FORCE)\ ROW\ LEVEL\ SECURITY
    | UPDATE\ alembic_version\ .*
    """,
    re.DOTALL | re.VERBOSE,
)


def migrations_that_claim_to_be_rolling() -> list[tuple[str, str]]:
    scripts = ScriptDirectory.from_config(configuration())
    return [
        (str(each.down_revision), each.revision)
        for each in scripts.walk_revisions()
        if getattr(each.module, "rolling", False)
    ]


@pytest.mark.parametrize(("before", "revision"), migrations_that_claim_to_be_rolling())
def test_a_rolling_migration_only_adds(before: str, revision: str) -> None:
    script = re.sub(r"--[^\n]*", "", postgres_script(before, revision))
    # The blocks that grant access have semicolons of their own.
    granting = re.findall(r"DO \$\$.*?\$\$", script, re.DOTALL)
    assert all("GRANT" in each for each in granting)
    parts = re.sub(r"DO \$\$.*?\$\$", "", script, flags=re.DOTALL).split(";")
    new_tables = set(re.findall(r"CREATE TABLE (\w+)", script))
    for statement in filter(None, (each.strip() for each in parts)):
        unique = re.fullmatch(r"CREATE UNIQUE INDEX \w+ ON (\w+) .*", statement, re.DOTALL)
        # Older processes write nothing into a new table.
        is_of_new_table = unique is not None and unique[1] in new_tables
        assert is_of_new_table or ADDITIVE.fullmatch(statement), statement
        if "ADD COLUMN" in statement:
            assert "DEFAULT" in statement or "NOT NULL" not in statement, statement


def test_what_is_not_declared_is_not_rolling() -> None:
    assert not_rolling("0065")[0] == "0066"
    assert not_rolling(HEAD) == []
