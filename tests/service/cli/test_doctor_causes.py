"""`masthead doctor` says the cause and the remedy, each once, against real servers."""

from __future__ import annotations

import asyncio
import gc
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from tests.databases import empty_postgres_url, postgres_server, run_apart
from tests.object_stores import BUCKET, S3Server
from tests.outside.mail.postbox import USER, Postbox
from tests.service.cli.commands import Masthead, Outcome, call
from tests.service.cli.test_doctor import checks_of
from tests.tls import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def doctor(capfd: pytest.CaptureFixture[str], folder: Path, *options: str) -> Outcome:
    outcome = call(capfd, "doctor", "--json", "--data-dir", str(folder), *options)
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
    return outcome


class TestStorage:
    @pytest.fixture(autouse=True)
    def environ(self, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in s3_server.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("MASTHEAD_STORAGE_URL", s3_server.new_url())

    def detail(self, capfd: pytest.CaptureFixture[str], folder: Path) -> str:
        outcome = doctor(capfd, folder)
        state, detail = checks_of(outcome)["storage"]
        assert state == "fail"
        return detail

    def test_a_key_that_the_server_does_not_know(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        detail = self.detail(capfd, tmp_path)
        assert "refuses the key (InvalidAccessKeyId)" in detail
        assert "AWS_ACCESS_KEY_ID" in detail

    def test_a_wrong_secret_key(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-and-hushed")
        detail = self.detail(capfd, tmp_path)
        assert "refuses the key (SignatureDoesNotMatch)" in detail
        assert "AWS_SECRET_ACCESS_KEY" in detail
        assert "hushed" not in detail

    def test_a_bucket_that_does_not_exist(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MASTHEAD_STORAGE_URL", f"s3://{BUCKET}-missing/x")
        detail = self.detail(capfd, tmp_path)
        assert detail.startswith(f"there is no bucket {BUCKET}-missing; create it")

    def test_a_server_that_does_not_answer(
        self,
        capfd: pytest.CaptureFixture[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        closed_port: int,
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed_port}")
        detail = self.detail(capfd, tmp_path)
        assert detail.startswith(f"http://127.0.0.1:{closed_port} does not answer")
        assert "AWS_ENDPOINT_URL" in detail


class TestDatabase:
    def detail(self, capfd: pytest.CaptureFixture[str], folder: Path, url: str) -> str:
        outcome = doctor(capfd, folder, "--database-url", url)
        checks = checks_of(outcome)
        assert checks["database"][0] == "fail"
        detail = checks["database"][1]
        # Once: what needs the database does not say it again.
        assert outcome.out.count("MASTHEAD_DATABASE_URL") == 1
        for name in ("stored secrets", "clock", "payments"):
            assert checks[name] == ("warn", "not checked: fix the database first")
        return detail

    def test_a_database_that_does_not_exist(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        url = empty_postgres_url()
        name = urlsplit(url).path.lstrip("/")
        detail = self.detail(capfd, tmp_path, url.replace(name, "no_such_database"))
        assert detail.startswith("the server has no database no_such_database; create it")

    def test_a_wrong_password(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, locked_user: str
    ) -> None:
        url = empty_postgres_url().replace("postgres:@", f"{locked_user}:hushed@")
        detail = self.detail(capfd, tmp_path, url)
        assert f"refuses the user {locked_user} or its password" in detail
        assert "hushed" not in detail

    def test_a_server_that_does_not_answer(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, closed_port: int
    ) -> None:
        detail = self.detail(capfd, tmp_path, f"postgresql://x@127.0.0.1:{closed_port}/x")
        assert detail.startswith(f"127.0.0.1:{closed_port} does not answer (connection refused)")

    def test_a_name_that_nobody_knows(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        detail = self.detail(capfd, tmp_path, "postgresql://x@nobody.invalid/x")
        assert detail.startswith("nobody.invalid:5432 does not answer")

    def test_a_file_that_is_no_database(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        (tmp_path / "masthead.db").write_bytes(b"no database" * 1000)
        detail = self.detail(capfd, tmp_path, f"sqlite:///{tmp_path}/masthead.db")
        assert "file is not a database" in detail

    @pytest.fixture
    def locked_user(self) -> Iterator[str]:
        """A role that has to give a password, on a server that asks nobody else for one."""
        name = f"locked_{secrets.token_hex(4)}"
        settings = Path(postgres_server().pgdata) / "pg_hba.conf"
        before = settings.read_text()

        async def run(*statements: str) -> None:
            connection = await asyncpg.connect(empty_postgres_url())
            for statement in statements:
                await connection.execute(statement)
            await connection.close()

        run_apart(lambda: run(f"CREATE ROLE {name} LOGIN PASSWORD 'right'"))
        line = "{} all " + name + " {} scram-sha-256\n"
        settings.write_text(line.format("local", "") + line.format("host", "all") + before)
        run_apart(lambda: run("SELECT pg_reload_conf()"))
        yield name
        settings.write_text(before)
        run_apart(lambda: run("SELECT pg_reload_conf()", f"DROP ROLE {name}"))


class TestMail:
    async def detail(
        self,
        capfd: pytest.CaptureFixture[str],
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        url: str,
    ) -> str:
        monkeypatch.setenv("MASTHEAD_SMTP_URL", url)
        # Elsewhere than the server, which lives in this loop.
        outcome = await asyncio.to_thread(doctor, capfd, folder)
        state, detail = checks_of(outcome)["mail"]
        assert state == "fail"
        assert detail.count("MASTHEAD_SMTP_URL") <= 1
        return detail

    async def test_a_wrong_password(
        self,
        capfd: pytest.CaptureFixture[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        authority: Authority,
    ) -> None:
        monkeypatch.setenv("MASTHEAD_OUTBOUND_CA_FILE", str(authority.ca_file))
        async with Postbox("starttls", authority.certificate(), needs_login=True) as postbox:
            url = f"smtp://{USER}:hushed@127.0.0.1:{postbox.port}?starttls=1"
            detail = await self.detail(capfd, tmp_path, monkeypatch, url)
        assert detail.startswith(f"127.0.0.1:{postbox.port} refuses the user or the password (535)")
        assert "hushed" not in detail

    # The loop of the command ends before asyncio has closed the socket of the failed handshake.
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    async def test_a_certificate_that_nobody_vouches_for(
        self,
        capfd: pytest.CaptureFixture[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        authority: Authority,
    ) -> None:
        async with Postbox("tls", authority.certificate()) as postbox:
            url = f"smtps://127.0.0.1:{postbox.port}"
            detail = await self.detail(capfd, tmp_path, monkeypatch, url)
        assert detail.startswith(f"the certificate of 127.0.0.1:{postbox.port} is not trusted")
        assert "MASTHEAD_OUTBOUND_CA_FILE" in detail
        gc.collect()

    async def test_a_server_without_the_tls_that_was_asked_for(
        self, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with Postbox() as postbox:
            url = f"smtp://127.0.0.1:{postbox.port}?starttls=1"
            detail = await self.detail(capfd, tmp_path, monkeypatch, url)
        assert "STARTTLS" in detail
        assert "check MASTHEAD_SMTP_URL" in detail

    async def test_a_server_that_does_not_answer(
        self,
        capfd: pytest.CaptureFixture[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        closed_port: int,
    ) -> None:
        url = f"smtp://127.0.0.1:{closed_port}"
        detail = await self.detail(capfd, tmp_path, monkeypatch, url)
        assert detail.startswith(f"127.0.0.1:{closed_port} does not answer (connection refused)")


class TestSecrets:
    def test_secrets_that_the_present_root_secret_does_not_open(
        self, masthead: Masthead, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MASTHEAD_SECRET_KEY", "a" * 40)
        masthead.tenant()
        masthead.json("settings", "set", "--tenant", "acme", "ai_api_key=sk-test")
        assert checks_of(masthead("doctor", "--json"))["stored secrets"][0] == "ok"
        monkeypatch.setenv("MASTHEAD_SECRET_KEY", f"{'b' * 40},{'a' * 40}")
        assert checks_of(masthead("doctor", "--json"))["stored secrets"][0] == "ok"
        monkeypatch.setenv("MASTHEAD_SECRET_KEY", "b" * 40)
        outcome = masthead("doctor", "--json")
        state, detail = checks_of(outcome)["stored secrets"]
        assert (outcome.code, state) == (1, "fail")
        assert detail.startswith("1 can't be read with the current root secret; restore")

    def test_a_root_secret_that_is_gone(self, masthead: Masthead) -> None:
        masthead.tenant()
        (masthead.data_dir / "secret.key").unlink()
        outcome = masthead("doctor", "--json")
        checks = checks_of(outcome)
        assert checks["root secret"][0] == "fail"
        assert "restore the file" in checks["root secret"][1]
        assert checks["stored secrets"] == ("warn", "not checked: fix the root secret first")
        assert not (masthead.data_dir / "secret.key").exists()
