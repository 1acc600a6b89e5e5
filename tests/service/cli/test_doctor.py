"""`masthead doctor` finds what is wrong and says what to do."""

from __future__ import annotations

import json
import socket
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.service.cli.commands import Masthead, Outcome, call

from masthead.engine.records.tables import record_counts
from masthead.service.services import Services
from masthead.storage.database import EVERY_TENANT


def checks_of(outcome: Outcome) -> dict[str, tuple[str, str]]:
    return {
        each["name"]: (each["state"], each["detail"]) for each in json.loads(outcome.out)["checks"]
    }


def test_a_good_install_has_nothing_to_fix(masthead: Masthead) -> None:
    masthead.tenant()
    outcome = masthead("doctor", "--json")
    checks = checks_of(outcome)
    assert outcome.code == 0
    assert outcome.json["ok"] is True
    assert "fail" not in {state for state, _ in checks.values()}
    assert "revision" in checks["database"][1]
    if masthead.database_url.startswith("postgresql"):
        # The test server's role is a superuser.
        assert checks["database"][0] == "warn"
        assert "row-level security holds" in checks["database"][1]
    else:
        assert checks["database"][0] == "ok"
    assert "ok   storage: an object was written" in masthead("doctor").out


def test_the_deep_check_finds_repairs_and_goes_on(masthead: Masthead) -> None:
    tenant = masthead.tenant()
    checks = checks_of(masthead("doctor", "--deep", "--json"))
    names = ("records", "lists", "search", "counters", "deliveries", "files", "orphans")
    assert {checks[name][0] for name in names} == {"ok"}
    masthead.inside(partial(set_totals, tenant_id=tenant["tenant_id"]))
    outcome = masthead("doctor", "--deep", "--json", "--tenant", "acme")
    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert found["ok"] is False
    assert found["faults"][0] == {
        "check": "counters",
        "site": "acme",
        "collection": "_superusers",
        "id": "all",
        "detail": "9 are stored, 1 are there",
        "can_repair": True,
        "repaired": False,
    }
    assert "run with --repair" in checks_of(outcome)["counters"][1]
    repaired = masthead("doctor", "--deep", "--repair")
    assert repaired.code == 0
    assert "counters: acme _superusers all: 9 are stored, 1 are there (repaired)" in repaired.out
    assert masthead("doctor", "--deep", "--resume").code == 0
    assert not (masthead.data_dir / "deep-check.json").exists()


async def set_totals(parts: Services, *, tenant_id: str) -> None:
    totals = sa.update(record_counts).where(
        record_counts.c.tenant_id == tenant_id,
        record_counts.c.collection == "_superusers",
        record_counts.c.counter == "",
    )
    statement = parts.database.compile(totals.values(total=9))
    async with parts.database.transaction(EVERY_TENANT) as tx:
        await tx.execute(*statement())


def test_options_of_the_deep_check_need_it_and_fit_the_one_that_was_stopped(
    masthead: Masthead,
) -> None:
    masthead.tenant()
    assert masthead("doctor", "--repair").code == 2
    (masthead.data_dir / "deep-check.json").write_text('{"repairs": true}')
    refused = masthead("doctor", "--deep", "--resume")
    assert (refused.code, "had other options" in refused.err) == (2, True)
    assert masthead("doctor", "--deep", "--resume", "--repair").code == 0
    assert masthead("doctor", "--deep", "--tenant", "nobody").code == 1


def test_an_open_secret_and_a_silent_mail_server_are_failures(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    monkeypatch.setenv("MASTHEAD_SMTP_URL", f"smtp://user:hush@127.0.0.1:{port}")
    (tmp_path / "secret.key").write_text("x" * 64)
    (tmp_path / "secret.key").chmod(0o644)
    outcome = call(capfd, "doctor", "--json", "--data-dir", str(tmp_path))
    checks = checks_of(outcome)
    assert outcome.code == 1
    assert checks["root secret"][0] == "fail"
    assert "chmod 600" in checks["root secret"][1]
    assert checks["mail"][0] == "fail"
    assert "hush" not in outcome.out


def test_a_sender_without_a_key_is_named(
    masthead: Masthead, monkeypatch: pytest.MonkeyPatch
) -> None:
    masthead.tenant()
    assert checks_of(masthead("doctor", "--json"))["sending domain"][0] == "ok"
    monkeypatch.setenv("MASTHEAD_SMTP_URL", "smtp://127.0.0.1:1")
    state, detail = checks_of(masthead("doctor", "--json"))["sending domain"]
    assert (state, "not signed" in detail) == ("warn", True)


def test_a_wrong_setting_is_the_only_finding(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASTHEAD_NONSENSE", "1")
    outcome = call(capfd, "doctor", "--json", "--data-dir", str(tmp_path))
    assert outcome.code == 1
    assert list(checks_of(outcome)) == ["settings"]


def test_a_database_that_does_not_answer_is_a_failure(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ("--data-dir", str(tmp_path), "--database-url", "postgresql://127.0.0.1:1/x")
    outcome = call(capfd, "doctor", "--json", *options)
    assert outcome.code == 1
    assert checks_of(outcome)["database"][0] == "fail"
    assert "MASTHEAD_DATABASE_URL" in checks_of(outcome)["database"][1]


def test_a_clock_behind_the_newest_change_is_a_failure(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call(capfd, "migrate", "--data-dir", str(tmp_path)).code == 0
    with closing(sqlite3.connect(tmp_path / "masthead.db")) as connection, connection:
        connection.execute("INSERT INTO tenant_states (tenant_id, version) VALUES ('t', 1)")
        connection.execute(
            "INSERT INTO events (tenant_id, version, ordinal, id, name, collection, record_id,"
            " payload, created)"
            " VALUES ('t', 1, 0, 'e', 'test.ping', 'posts', 'r', '{}', '2999-01-01T00:00:00.000Z')"
        )
    outcome = call(capfd, "doctor", "--json", "--data-dir", str(tmp_path))
    assert checks_of(outcome)["clock"][0] == "fail"
