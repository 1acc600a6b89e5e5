"""A folder with a HOME of its own, where only a release is installed."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = (ROOT / "requirements.lock", ROOT / "requirements-build.lock")
_KEPT = ("PATH", "TMPDIR", "LANG", "LC_ALL")
_NO_INDEX = ("NewConnectionError", "Failed to establish", "name resolution", "ProxyError")


def downloaded_wheels() -> Path:
    """The locked packages as files. Downloaded once for each lock, so that every test after that
    is quick and needs no network."""
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in LOCKS)).hexdigest()[:12]
    folder = ROOT / "build" / f"wheels-{digest}"
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            _download(Path(temporary) / "wheels")
            try:
                os.rename(Path(temporary) / "wheels", folder)
            except OSError:
                if not folder.exists():  # otherwise another process was quicker
                    raise
    return folder


def _download(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "-q", "download", "--no-deps", "-d", folder]
    # Also what only a Python 3.11 of a distribution needs, which is older than its last.
    every = folder.with_name("every.txt")
    locked = "".join(each.read_text() for each in LOCKS)
    every.write_text(re.sub(r" ; python_full_version < '3\.11[^\\\n]*", " ", locked))
    # What a dependency without a wheel is built with comes last.
    for wanted in (["--require-hashes", "-r", every], ["setuptools", "wheel"]):
        done = subprocess.run([*pip, *wanted], capture_output=True, text=True)
        if done.returncode and any(words in done.stderr for words in _NO_INDEX):
            pytest.skip("no package index: connect this machine to one, as for `make install`")
        assert done.returncode == 0, done.stderr


def new_environ(folder: Path, wheelhouse: Path) -> dict[str, str]:
    """Returns the environment of a new account on a new machine."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return {
        **{name: value for name, value in os.environ.items() if name in _KEPT},
        "HOME": str(home),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheelhouse),
        # Neither another configuration nor a cache.
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_CACHE_DIR": "1",
    }


@dataclass(frozen=True)
class Bare:
    folder: Path
    dist: Path
    wheelhouse: Path

    @property
    def environ(self) -> dict[str, str]:
        return new_environ(self.folder, self.wheelhouse)

    @property
    def masthead(self) -> Path:
        return self.folder / "venv" / "bin" / "masthead"

    def run(self, *command: str, check: bool = False, **more: Any) -> Any:
        options = {"cwd": self.folder, "env": self.environ, "capture_output": True, "text": True}
        done = subprocess.run(command, **{**options, **more})
        assert not check or done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
        return done
