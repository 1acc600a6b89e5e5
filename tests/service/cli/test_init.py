"""`masthead init` writes what a new server needs, gives it to its user, and overwrites nothing."""

from __future__ import annotations

import json
import os
import pty
import pwd
import re
import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.service.cli.commands import COMMAND, call, plain_environment

from masthead.base.config.settings import Settings
from masthead.service.first_setup import owner, writing
from masthead.service.first_setup.plan import WantedFile

ME = pwd.getpwuid(os.geteuid()).pw_name
DOMAIN = "blogs.example"
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze is missing: install systemd, as .ci/run does",
)


@pytest.fixture
def init(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str, **given: str) -> Any:
        options = {"user": ME, "domain": DOMAIN, "dir": str(tmp_path / "srv"), **given}
        flags = [part for name, value in options.items() for part in (f"--{name}", value) if value]
        return call(capfd, "init", *flags, *arguments)

    return run


@pytest.fixture
def all_files(tmp_path: Path) -> list[str]:
    unit, proxy = str(tmp_path / "masthead.service"), str(tmp_path / "Caddyfile")
    return ["--unit", unit, "--proxy", "caddy", proxy]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def settings_of(env: Path) -> Settings:
    """As a shell reads the file, which is also how systemd does."""
    shell = f"set -a; . {env}; set +a; env -0"
    printed = subprocess.run(["sh", "-c", shell], env={}, capture_output=True, check=True).stdout
    pairs = (each.partition("=") for each in printed.decode().split("\0") if each)
    return Settings.from_environ({name: value for name, _, value in pairs})


def test_it_writes_private_folders_and_settings(init: Any, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        printed = init("--json").json
    finally:
        os.umask(before)
    folder = tmp_path / "srv"
    created = [str(folder), str(folder / "data"), str(folder / "masthead.env")]
    assert (printed["created"], printed["kept"]) == (created, [])
    assert (printed["dir"], printed["user"], printed["domain"]) == (created[0], ME, DOMAIN)
    assert mode_of(folder / "data") == 0o700
    assert mode_of(folder / "masthead.env") == 0o600
    settings = settings_of(folder / "masthead.env")
    assert settings.data_dir == folder / "data"
    assert (settings.base_url, settings.base_domain) == (f"https://{DOMAIN}", DOMAIN)
    assert [str(each) for each in settings.trusted_proxies] == ["127.0.0.1/32", "::1/128"]


def test_settings_in_comments_can_be_uncommented(init: Any, tmp_path: Path) -> None:
    init()
    env = tmp_path / "srv" / "masthead.env"
    text = env.read_text()
    env.write_text(re.sub(r"^#(?=[A-Z_]+=)", "", text, flags=re.MULTILINE))
    assert env.read_text().count("\nMASTHEAD_") > text.count("\nMASTHEAD_")
    assert settings_of(env).default_tenant == "slug"


def test_without_a_domain_it_is_for_this_machine(init: Any, tmp_path: Path) -> None:
    assert init("--port", "8123", "--json", domain="").json["domain"] is None
    settings = settings_of(tmp_path / "srv" / "masthead.env")
    assert (settings.base_url, settings.base_domain) == ("http://localhost:8123", "localhost")


def test_it_says_what_it_did_and_what_is_next(
    init: Any, all_files: list[str], tmp_path: Path
) -> None:
    printed = init(*all_files).out
    for name in ("srv", "srv/data", "srv/masthead.env", "masthead.service", "Caddyfile"):
        assert f"created {tmp_path / name}\n" in printed
    assert "systemctl daemon-reload && systemctl enable --now masthead\n" in printed
    # Caddy's own user can't read the folder of the service.
    assert f"cp {tmp_path / 'Caddyfile'} /etc/caddy/Caddyfile && systemctl reload caddy" in printed


def test_the_first_account_comes_before_the_service(init: Any, tmp_path: Path) -> None:
    steps = init("--json").json["next"]
    env = {**plain_environment(), "MASTHEAD_LOG": "json"}
    given = f"{steps[0].removesuffix(')')} --password a-long-word)"
    created = subprocess.run(["sh", "-c", given], env=env, capture_output=True, text=True)
    assert created.stdout.startswith("Operator you@example.com is ready"), created.stderr
    assert (tmp_path / "srv" / "data" / "masthead.db").exists()
    assert " serve " in steps[1]


def test_a_second_call_changes_nothing_and_says_so(
    init: Any, all_files: list[str], tmp_path: Path
) -> None:
    init(*all_files)
    edited = tmp_path / "srv" / "masthead.env"
    edited.write_text(edited.read_text() + "MASTHEAD_LOG=json\n")
    unit = tmp_path / "masthead.service"
    unit.write_text(unit.read_text().replace("--port 8000", "--port 8000 --workers 2"))
    before = contents(tmp_path)
    again = init(*all_files)
    assert again.code == 0
    assert "Nothing was changed: all of it was there already.\n" in again.out
    printed = init(*all_files, "--json").json
    assert (printed["created"], len(printed["kept"])) == ([], 5)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("given", "file", "line"),
    [
        (
            {"domain": "other.example"},
            "srv/masthead.env",
            "MASTHEAD_BASE_URL=https://other.example",
        ),
        ({"port": "800"}, "masthead.service", "serve --port 800"),
        ({"user": "daemon"}, "masthead.service", "User=daemon"),
    ],
)
def test_a_second_call_with_other_values_is_refused(
    init: Any, all_files: list[str], tmp_path: Path, given: dict[str, str], file: str, line: str
) -> None:
    init(*all_files)
    before = contents(tmp_path)
    more = ["--proxy", "nginx", str(tmp_path / "nginx.conf")]
    refused = init(*all_files, *more, **given)
    assert (refused.code, refused.out) == (1, "")
    assert f"{tmp_path / file} is there already and stays as it is" in refused.err
    assert f"{line}` is not in it. Change or remove it. Nothing was written." in refused.err
    assert contents(tmp_path) == before


def test_a_file_of_somebody_else_is_not_overwritten(
    init: Any, all_files: list[str], tmp_path: Path
) -> None:
    (tmp_path / "Caddyfile").write_text("mine")
    refused = init(*all_files)
    assert (refused.code, refused.out) == (1, "")
    assert str(tmp_path / "Caddyfile") in refused.err
    assert contents(tmp_path) == {str(tmp_path / "Caddyfile"): b"mine"}


def test_a_second_call_adds_what_was_missing(init: Any, tmp_path: Path) -> None:
    init()
    proxy = str(tmp_path / "nginx.conf")
    assert init("--proxy", "nginx", proxy, "--json").json["created"] == [proxy]


def test_a_file_that_appears_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "masthead.env"
    fsync = os.fsync

    def write_first(descriptor: int) -> None:
        path.write_text("mine")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", write_first)
    assert not writing._create(WantedFile(path, "ours", 0o600), None)
    assert contents(tmp_path) == {str(path): b"mine"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--unit", "nowhere/masthead.service"], "there is no folder"),
        (["--proxy", "caddy", "."], "is a folder; name a file to write"),
    ],
)
def test_a_file_that_can_not_be_written_is_refused_before_anything_is(
    init: Any,
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = init(*arguments)
    assert (outcome.code, outcome.out) == (1, "")
    assert sentence in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"user": "Not A User"}, "--user must be the name of a user"),
        ({"domain": "http://x.example"}, "--domain must be a domain name"),
        ({"dir": "/tmp/a b"}, "--dir must be a path of letters"),
        ({"dir": "/tmp/a%i"}, "--dir must be a path of letters"),
        ({"dir": "/tmp/a\nUser=root"}, "--dir must be a path of letters"),
        ({"port": "0"}, "0 is not in the range"),
        ({"proxy": "apache"}, "Option '--proxy' requires 2 arguments"),
    ],
)
def test_what_would_not_be_read_back_is_wrong_usage(
    init: Any, options: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    outcome = init(**options)
    assert (outcome.code, outcome.out) == (2, "")
    assert sentence in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_user_that_is_not_there_yet_is_a_next_step(init: Any, tmp_path: Path) -> None:
    steps = init("--json", user="masthead-nobody").json["next"]
    folder = tmp_path / "srv"
    assert steps[0].startswith(f"useradd --system --home-dir {folder} ")
    assert steps[0].endswith(" masthead-nobody")
    assert steps[1] == f"chown -R masthead-nobody: {folder}"


@is_root
def test_what_the_service_needs_belongs_to_its_user(
    init: Any, all_files: list[str], tmp_path: Path
) -> None:
    found = pwd.getpwnam("daemon")
    init(*all_files, user="daemon")
    for path in (tmp_path / "srv", tmp_path / "srv" / "data", tmp_path / "srv" / "masthead.env"):
        assert (path.stat().st_uid, path.stat().st_gid) == (found.pw_uid, found.pw_gid)
    assert (tmp_path / "masthead.service").stat().st_uid == 0


def test_root_is_never_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert owner.default_user() == "masthead"


def answered(folder: Path, answers: list[str], *flags: str) -> tuple[bytes, str]:
    """Runs the command on a terminal. Returns what it printed and what it asked."""
    outer, inner = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "init", "--json", "--user", ME, *flags],
        env=plain_environment(),
        cwd=folder,
        stdin=inner,
        stdout=subprocess.PIPE,
        stderr=inner,
    )
    os.close(inner)
    os.write(outer, "".join(f"{each}\n" for each in answers).encode())
    printed, _ = process.communicate(timeout=120)
    asked = ""
    with suppress(OSError):  # nothing was written to the terminal
        asked = os.read(outer, 10_000).decode()
    os.close(outer)
    assert process.returncode == 0, asked
    return printed, asked


@pytest.mark.parametrize("word", ["n", "no", "none"])
def test_no_is_an_answer_and_no_file(tmp_path: Path, word: str) -> None:
    printed, _ = answered(tmp_path, [DOMAIN, word, word], "--dir", str(tmp_path / "srv"))
    found = json.loads(printed)
    assert (found["unit"], found["proxy"]) == (None, None)
    assert [each.name for each in tmp_path.iterdir()] == ["srv"]


def test_yes_is_the_file_that_is_proposed(tmp_path: Path) -> None:
    folder = tmp_path / "srv"
    printed, _ = answered(tmp_path, [DOMAIN, str(folder), "no", "yes", "y"])
    assert json.loads(printed)["proxy"] == str(folder / "Caddyfile")


def test_with_yes_nothing_is_asked(tmp_path: Path) -> None:
    printed, asked = answered(tmp_path, [], "--dir", str(tmp_path / "srv"), "--yes")
    assert (json.loads(printed)["domain"], asked) == (None, "")


def test_on_a_terminal_it_asks(tmp_path: Path) -> None:
    """For what is not given; what is given, it does not ask for."""
    answers = [DOMAIN, str(tmp_path / "srv"), "none", "nginx", str(tmp_path / "nginx.conf")]
    printed, asked = answered(tmp_path, answers)
    for question in ("Domain", "Folder", "systemd unit", "Proxy", "File for nginx"):
        assert question in asked
    assert "User" not in asked
    assert str(tmp_path / "nginx.conf").encode() in printed
    assert (tmp_path / "srv" / "masthead.env").exists()


@needs_systemd
class TestUnit:
    @pytest.fixture
    def unit(self, init: Any, tmp_path: Path) -> Path:
        path = tmp_path / "masthead.service"
        init("--unit", str(path), user="daemon")
        return path

    def analyze(self, *arguments: str) -> str:
        done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def test_systemd_finds_no_fault_in_it(self, unit: Path) -> None:
        assert self.analyze("verify", "--man=no", str(unit)) == ""

    def test_its_exposure_is_low(self, unit: Path) -> None:
        shown = self.analyze("security", "--offline=true", "--no-pager", str(unit))
        level = re.search(r"exposure level for masthead.service: ([0-9.]+)", shown)
        assert level
        assert float(level[1]) <= 3.0

    def test_it_starts_what_is_installed_with_the_settings(
        self, unit: Path, tmp_path: Path
    ) -> None:
        lines = dict(line.partition("=")[::2] for line in unit.read_text().splitlines())
        assert lines["ExecStart"] == f"{COMMAND} serve --port 8000"
        assert lines["EnvironmentFile"] == str(tmp_path / "srv" / "masthead.env")
        assert lines["ReadWritePaths"] == str(tmp_path / "srv" / "data")
        assert lines["User"] == "daemon"

    def test_a_home_that_it_needs_is_not_hidden(
        self, init: Any, unit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "base_prefix", "/home/anne/.local/share/uv/python")
        other = tmp_path / "other.service"
        init("--unit", str(other))
        assert "\nProtectHome=read-only\n" in other.read_text()
