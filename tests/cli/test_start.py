"""What a command does not load, so that it starts soon: a second is much for a person who waits."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("sqlalchemy", "structlog", "PIL", "lxml", "aiohttp", "obstore")


def loaded(code: str, among: tuple[str, ...]) -> set[str]:
    asked = f"{code}; import sys; print(*(sys.modules.keys() & {among!r}), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, text=True)
    return set(done.stderr.split("\n")[-2].split())


@pytest.mark.parametrize("arguments", ["--help", "import --help", "import ghost --bogus"])
def test_help_and_wrong_usage_load_no_service(arguments: str) -> None:
    run = f"from masthead.cli.main import main; main({arguments.split()!r})"
    assert loaded(run, HEAVY) == set()


def test_an_import_loads_nothing_for_pictures_that_it_may_not_have() -> None:
    among = ("sqlalchemy", "PIL", "aiohttp", "obstore")
    assert loaded("import masthead.cli.importing.work", among) == {"sqlalchemy"}


def test_a_service_on_sqlite_loads_nothing_of_postgresql() -> None:
    among = ("sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite", "asyncpg")
    assert loaded("import masthead.app", among) == {"sqlalchemy.dialects.sqlite"}


def test_a_process_that_prepares_posts_loads_no_service() -> None:
    among = ("sqlalchemy", "structlog", "PIL", "aiohttp", "obstore", "masthead.cli.main")
    assert loaded("import masthead.importers.run.preparing", among) == set()


def test_what_a_new_process_loads_again_is_not_the_command_line() -> None:
    """Processes that a command starts begin with the file that the command began with."""
    assert loaded("import masthead.__main__", ("masthead.cli.main", "click")) == set()
