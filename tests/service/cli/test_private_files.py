"""The files of an installation are readable by its user only; its root secret is never replaced."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.cli.commands import Masthead, Outcome, call
from tests.service.cli.test_doctor import checks_of
from tests.world import open_world

from masthead.base.config.private_files import OTHERS_MODE


@pytest.fixture(autouse=True)
def default_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir(mode=0o755)
    return made


def created(capfd: pytest.CaptureFixture[str], folder: Path) -> Outcome:
    return call(
        capfd,
        *("tenant", "create", "--slug", "acme", "--name", "Acme", "--plan", "pro"),
        *("--owner-email", "owner@acme.example", "--owner-password", "correct horse"),
        *("--data-dir", str(folder)),
    )


def open_files(folder: Path) -> list[str]:
    """Files that other users can read, because every folder above them is readable, too."""
    found = []
    for path in folder.iterdir():
        if not path.stat().st_mode & OTHERS_MODE:
            continue
        found += [str(path)] if path.is_file() else open_files(path)
    return found


async def test_in_an_open_data_directory_every_file_is_private(folder: Path) -> None:
    url = f"sqlite:///{folder}/masthead.db"
    from masthead.storage.migrate import migrate

    await migrate(url)
    world = await open_world(url, folder, MASTHEAD_SECRET_KEY="")
    try:
        tenant = await world.new_tenant()
        await world.parts.objects.put(f"{tenant.id}/small", b"x")
        owner = await tenant.owner()
        await owner.api.get("/api/collections/posts/records")
        names = {path.name for path in folder.iterdir()}
        assert {"masthead.db", "masthead.db-wal", "limits.db", "secret.key", "media"} <= names
        assert open_files(folder) == []
    finally:
        await world.parts.close()


def test_a_start_corrects_the_permissions(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    assert created(capfd, folder).code == 0
    (folder / "media").mkdir(exist_ok=True)
    (folder / "demo.json").write_text("{}")
    for path in folder.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o644)
    doctor = call(capfd, "doctor", "--json", "--data-dir", str(folder))
    state, detail = checks_of(doctor)["files"]
    assert (doctor.code, state) == (1, "fail")
    for name in ("masthead.db", "demo.json", "media"):
        assert str(folder / name) in detail
    assert "chmod" in detail
    assert call(capfd, "tenant", "list", "--data-dir", str(folder)).code == 0
    assert open_files(folder) == []
    doctor = call(capfd, "doctor", "--json", "--data-dir", str(folder))
    assert checks_of(doctor)["files"][0] == "ok"


class TestRootSecret:
    def test_a_used_database_without_it_is_not_opened(self, masthead: Masthead) -> None:
        masthead.tenant()
        key = masthead.data_dir / "secret.key"
        before = key.read_text()
        key.unlink()
        outcome = masthead("tenant", "list")
        assert outcome.code == 1
        assert "secret.key is missing in" in outcome.err
        assert "MASTHEAD_SECRET_KEY" in outcome.err
        assert len(outcome.err.strip().splitlines()) == 1
        assert not key.exists()
        key.write_text(before)
        assert masthead("tenant", "list").code == 0

    def test_the_secret_may_come_from_the_environment_instead(
        self, masthead: Masthead, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        masthead.tenant()
        key = masthead.data_dir / "secret.key"
        monkeypatch.setenv("MASTHEAD_SECRET_KEY", key.read_text().strip())
        key.unlink()
        assert masthead("tenant", "list").code == 0
        assert not key.exists()

    def test_a_new_installation_creates_it(self, masthead: Masthead) -> None:
        assert json.loads(masthead("tenant", "list", "--json").out) == []
        assert (masthead.data_dir / "secret.key").stat().st_mode & 0o777 == 0o600
