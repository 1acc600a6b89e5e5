"""Common to all commands: exit codes, one sentence on standard error, the global options."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import click
import pytest
from tests.databases import fresh_postgres_url, fresh_sqlite_url
from tests.log_lines import own_logs
from tests.service.cli.commands import call

from masthead.base.logs import log
from masthead.base.version import running_version
from masthead.service.cli.main import COMMANDS, load
from masthead.service.cli.opened_installation import quiet_logs

CREATE = "tenant create --slug a --name A --owner-email a@b.example --owner-password a-long-word"

WRONG = [
    ("bogus", "No such command 'bogus'."),
    ("tenant creat", "No such command 'creat'. Did you mean 'create'?"),
    ("tenant list --bogus", "No such option '--bogus'"),
    (f"{CREATE} --plan gold", "'gold' is not one of 'free', 'pro'"),
    (CREATE, "Missing option '--plan'."),
    ("tenant set-plan acme gold", "'gold' is not one of"),
    ("tenant set-plan acme pro --per-minute 5", "only the enterprise plan"),
    ("tenant set-plan acme enterprise --per-minute -1", "-1 is not in the range x>=0"),
    ("key create --tenant a --name n", "Missing option '--scope'. Choose from comments:moderate, "),
    ("key create --tenant a --name n --scope post:read", "did you mean posts:read?"),
    ("key create --tenant a --name n --scope posts:read --expires soon", "is not a date"),
    (
        "key create --tenant a --name n --scope posts:read --expires 2020-01-01",
        "'2020-01-01' has passed; give a time in the future",
    ),
    ("key create --tenant a --name n --scope xyzzy", "'xyzzy' is not a scope; use one of comments"),
    ("settings set --tenant a foo=bar", "'foo' is not a site setting; use one of accent_color, "),
    ("member create --tenant a --email a@b.example --tier gold", "'gold' is not one of"),
    ("settings set --tenant a coments_enabled=true", "did you mean comments_enabled?"),
    ("settings set --tenant a slug=other", "'slug' is not a site setting"),
    ("settings set --tenant a site_name", "write each setting as KEY=VALUE"),
    (f"{CREATE} --plan pro".replace(" --owner-password a-long-word", ""), "Missing option"),
    ("operator create --email a@b.example", "`--password -` reads it from standard input"),
    ("settings set --tenant a ai_api_key", "`ai_api_key=-` reads it from standard input"),
    ("serve --port 70000", "70000 is not in the range 0<=x<=65535"),
    ("serve --workers 0", "0 is not in the range x>=1"),
    ("worker --json", "No such option '--json'"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG)
def test_wrong_usage_is_2_and_one_sentence(
    arguments: str,
    sentence: str,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = call(capfd, *arguments.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("masthead: ")
    assert outcome.err.count("\n") == 1
    assert sentence in outcome.err
    assert list(tmp_path.iterdir()) == [], "wrong usage must not touch anything"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    outcome = call(capfd, name, "--help")
    assert outcome.code == 0
    assert f"masthead {name}" in outcome.out


def test_the_global_options_may_stand_before_or_after(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(tmp_path)
    before = call(capfd, "--data-dir", folder, "--json", "tenant", "list")
    after = call(capfd, "tenant", "list", "--json", "--data-dir", folder)
    assert before.json == after.json == []


def test_a_wrong_setting_is_a_failure_that_names_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MASTHEAD_RATE_LIMITS", "c")
    outcome = call(capfd, "tenant", "list", "--data-dir", str(tmp_path))
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("masthead: MASTHEAD_RATE_LIMITS must be")


def test_a_database_that_does_not_answer_is_a_failure(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ("--data-dir", str(tmp_path), "--database-url")
    for url in ("postgresql://u:hush@127.0.0.1:1/x", f"sqlite:///{tmp_path}/none/x.db"):
        outcome = call(capfd, "tenant", "list", *options, url)
        assert (outcome.code, outcome.out) == (1, "")
        assert "MASTHEAD_DATABASE_URL" in outcome.err
        assert "hush" not in outcome.err


def test_an_unexpected_error_is_one_sentence(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    url = fresh_sqlite_url(tmp_path)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("ALTER TABLE tenants RENAME TO lost")
    outcome = call(capfd, "tenant", "list", "--data-dir", str(tmp_path), "--database-url", url)
    assert (outcome.code, outcome.out) == (1, "")
    assert "This should not have happened (" in outcome.err
    assert "no such table: tenants" in outcome.err
    assert "Traceback" not in outcome.err


class TestSchema:
    def list_tenants(self, capfd: pytest.CaptureFixture[str], url: str, folder: Path) -> object:
        options = ("--data-dir", str(folder), "--database-url", url)
        return call(capfd, "tenant", "list", "--json", *options)

    def with_revision(self, tmp_path: Path, revision: str) -> str:
        url = fresh_sqlite_url(tmp_path)
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        return url

    @pytest.mark.parametrize(
        ("revision", "said"),
        [("0000", "Run `masthead migrate` first."), ("9999", "newer version of Masthead")],
    )
    def test_an_older_or_newer_database_is_refused(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, revision: str, said: str
    ) -> None:
        outcome = self.list_tenants(capfd, self.with_revision(tmp_path, revision), tmp_path)
        assert (outcome.code, outcome.out) == (1, "")
        assert said in outcome.err

    def test_migrate_prints_the_revision(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        outcome = call(capfd, "migrate", "--json", "--data-dir", str(tmp_path))
        assert set(outcome.json) == {"revision"}
        assert outcome.err == ""


class TestNoInstallation:
    """A command with a wrong data directory does not create an installation there."""

    @pytest.mark.parametrize(
        "arguments",
        [
            "tenant list",
            "tenant set-plan acme pro",
            "key list --tenant acme",
            "member create --tenant acme --email a@b.example --password x",
            "settings get --tenant acme",
            "deliveries list --tenant acme",
            "export-site --format wxr --tenant acme --output x.xml",
            "backup x.tar",
            "worker",
        ],
    )
    def test_a_command_that_needs_one_says_how_to_configure_it(
        self,
        arguments: str,
        capfd: pytest.CaptureFixture[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        outcome = call(capfd, *arguments.split())
        assert (outcome.code, outcome.out) == (1, "")
        assert outcome.err == (
            f"masthead: There is no data directory {tmp_path}/data. Name the one of your "
            "installation with MASTHEAD_DATA_DIR or --data-dir.\n"
        )
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "arguments",
        [
            ("migrate",),
            (*CREATE.split(), "--plan", "pro"),
            ("operator", "create", "--email", "a@b.example", "--password", "a-long-word"),
        ],
    )
    def test_a_command_that_may_be_the_first_creates_it(
        self,
        arguments: tuple[str, ...],
        capfd: pytest.CaptureFixture[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        outcome = call(capfd, *arguments)
        assert outcome.code == 0, outcome.err
        assert (tmp_path / "data" / "masthead.db").exists()

    def test_a_database_elsewhere_needs_no_folder_when_the_secret_is_given(
        self,
        capfd: pytest.CaptureFixture[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        url = fresh_postgres_url()
        refused = call(capfd, "tenant", "list", "--json", "--database-url", url)
        assert "There is no data directory" in refused.err
        monkeypatch.setenv("MASTHEAD_SECRET_KEY", "k" * 40)
        assert call(capfd, "tenant", "list", "--json", "--database-url", url).json == []


def test_no_line_of_the_lists_of_commands_is_cut_off(capfd: pytest.CaptureFixture[str]) -> None:
    groups = [name for name in COMMANDS if isinstance(load(name), click.Group)]
    for words in ([], *([each] for each in groups)):
        listed = call(capfd, *words, "--help").out.partition("\nCommands:\n")[2]
        assert listed
        assert "..." not in listed


def test_a_command_that_ends_writes_no_log_but_of_errors(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with own_logs():
        quiet_logs()
        log.info("one.done")
        log.warning("one.late", cause="x")
        log.error("one.failed", cause="y")
    [line] = capfd.readouterr().err.splitlines()
    assert "one.failed" in line
    assert not line.startswith("{")


def test_the_version_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    outcome = call(capfd, "--version")
    assert (outcome.code, outcome.out) == (0, f"masthead {running_version()}\n")


def test_every_command_has_the_same_tenant_option() -> None:
    found = 0
    for name in COMMANDS:
        command = load(name)
        for inner in getattr(command, "commands", {name: command}).values():
            named = [each for each in inner.params if "tenant" in each.name]
            assert all(each.opts == ["--tenant", "--tenant-id"] for each in named), name
            found += len(named)
    assert found >= 12
