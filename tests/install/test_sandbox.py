"""The service works under the restrictions of its systemd unit."""

from __future__ import annotations

import ctypes.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.install import sandbox
from tests.service.cli.commands import COMMAND, plain_environment
from tests.service.cli.running import serving

pytestmark = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None or ctypes.util.find_library("seccomp") is None,
    reason="systemd-analyze is missing: install systemd, as .ci/run does",
)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    path = tmp_path / "masthead.service"
    command = [COMMAND, "init", "--dir", tmp_path / "srv", "--unit", path]
    subprocess.run(command, env=plain_environment(), check=True, stdout=subprocess.DEVNULL)
    return path


def restricted(unit: Path, program: str | Path) -> Path:
    """A program that runs another one as the unit would."""
    script = unit.with_name("restricted")
    words = f'"{sys.executable}" "{sandbox.__file__}" "{unit}" "{program}"'
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    script.chmod(0o700)
    return script


@pytest.mark.sweep
def test_the_service_does_all_that_it_does_without(unit: Path, tmp_path: Path) -> None:
    """The demo has pictures to scale and passwords to hash."""
    with serving(tmp_path / "data", "--demo", program=restricted(unit, COMMAND)) as running:
        password = [running.line() for _ in range(3)][1].rpartition("password: ")[2]
        assert running.get("/").status_code == 200
        identity = {"identity": "owner@demo.example", "password": password}
        address = "/api/collections/_superusers/auth-with-password"
        assert running.post(address, identity).status_code == 200


def test_the_restrictions_hold(unit: Path) -> None:
    """Otherwise the test above would show nothing."""
    tried = "import os; os.chown('/', 0, 0)"
    command = [restricted(unit, sys.executable), "-c", tried]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "PermissionError: [Errno 1]" in done.stderr
