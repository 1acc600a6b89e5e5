"""Modules that a command must not load, so that it starts quickly."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.service.cli.commands import COMMAND
from tests.tiers import representatives

UNUSED_BY_COMMANDS = (
    "PIL",
    "aiohttp",
    "alembic",
    "argon2",
    "asyncpg",
    "babel",
    "dns",
    "granian",
    "jinja2",
    "jwt",
    "lxml",
    "masthead.faces.admin",
    "masthead.service.app",
    "masthead.faces.reader",
    "multiprocessing",
    "obstore",
    "prosemirror",
    "redis",
    "rich",
    "sqlalchemy.dialects.postgresql",
    "uvloop",
    "yarl",
)
HEAVY = ("sqlalchemy", "masthead.base.logs", "PIL", "lxml", "aiohttp", "obstore")


def loaded(code: str, among: tuple[str, ...]) -> set[str]:
    asked = f"{code}\nimport sys; print(*(sys.modules.keys() & {among!r}), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, text=True)
    return set(done.stderr.split("\n")[-2].split())


@pytest.mark.parametrize("arguments", ["--help", "import --help", "import ghost --bogus"])
def test_help_and_wrong_usage_load_no_service(arguments: str) -> None:
    run = f"from masthead.service.cli.main import main; main({arguments.split()!r})"
    assert loaded(run, HEAVY) == set()


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("data"))
    owner = ["--owner-email", "owner@example.com", "--owner-password", "passw0rd1234"]
    tenant = ["tenant", "create", "--slug", "acme", "--name", "Acme", "--plan", "pro", *owner]
    # In a process of its own: a command sets up logging.
    subprocess.run([COMMAND, *tenant, "--data-dir", folder], capture_output=True, check=True)
    return folder


@pytest.mark.parametrize(
    "command",
    representatives(
        [
            "key create --tenant acme --name k --scope posts:read",
            "tenant list",
            "key list --tenant acme",
            "settings get --tenant acme",
        ]
    ),
)
def test_a_command_loads_what_it_needs_and_no_more(command: str, data_dir: str) -> None:
    arguments = [*command.split(), "--data-dir", data_dir]
    run = f"from masthead.service.cli.main import main; assert main({arguments!r}) == 0"
    assert loaded(run, UNUSED_BY_COMMANDS) == set()


def test_an_import_without_pictures_loads_no_image_or_http_library() -> None:
    among = ("sqlalchemy", "PIL", "aiohttp", "obstore")
    assert loaded("import masthead.service.cli.importing.work", among) == {"sqlalchemy"}


def test_a_service_on_sqlite_loads_nothing_of_postgresql() -> None:
    among = ("sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite", "asyncpg")
    assert loaded("import masthead.service.app", among) == {"sqlalchemy.dialects.sqlite"}


LOADED_LATER = (
    "aiohttp",
    "aiosmtplib",
    "jwt",
    "lxml",
    "masthead.faces.admin",
    "masthead.service.background",
    "masthead.service.demo",
    "prometheus_client",
    "prosemirror",
    "rich",
)


def test_a_service_starts_without_the_admin_the_worker_and_libraries_for_later() -> None:
    assert loaded("import masthead.service.serve.process", LOADED_LATER) == set()


def test_a_service_loads_the_admin_the_worker_and_tokens_after_the_start(data_dir: str) -> None:
    run = f"""
import asyncio
from masthead.service.app import Service
from masthead.base.config.settings import Settings

async def run():
    service = Service(Settings.from_environ({{"MASTHEAD_DATA_DIR": {data_dir!r}}}))
    await service.start()
    await service.warm_up()
    await service.stop()

asyncio.run(run())
"""
    assert loaded(run, LOADED_LATER) >= {
        "jwt",
        "masthead.faces.admin",
        "masthead.service.background",
    }


def test_a_service_whose_worker_cannot_be_loaded_drains_and_ends_with_the_error(
    data_dir: str,
) -> None:
    # As in an installation that lacks a library of the worker.
    run = f"""
import sys
sys.modules["aiosmtplib"] = None
from masthead.service.cli.main import main
sys.exit(main(["serve", "--port", "0", "--data-dir", {data_dir!r}]))
"""
    done = subprocess.run(
        [sys.executable, "-c", run], capture_output=True, check=False, text=True, timeout=120
    )
    assert done.returncode != 0
    assert "server.draining" in done.stdout + done.stderr
    assert "import of aiosmtplib" in done.stderr


def test_the_parent_of_several_server_processes_loads_nothing_of_the_service() -> None:
    among = (
        "masthead.faces.admin",
        "masthead.service.app",
        "masthead.service.services",
        "masthead.faces.reader",
        "granian",
    )
    parent = "import masthead.service.cli.commands.serve, masthead.service.serve.supervisor"
    assert loaded(parent, among) == set()


def test_a_process_that_prepares_posts_loads_no_service() -> None:
    among = ("sqlalchemy", "PIL", "aiohttp", "obstore", "masthead.service.cli.main")
    assert loaded("import masthead.faces.importers.write.preparing", among) == set()


def test_a_spawned_process_does_not_load_the_command_line() -> None:
    """A spawned process imports the main module of its parent."""
    assert loaded("import masthead.__main__", ("masthead.service.cli.main", "click")) == set()
