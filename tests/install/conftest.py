"""A release, and an environment that it is installed in, made once for the whole folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.install.bare import ROOT, Bare, downloaded_wheels, new_environ


@pytest.fixture(scope="session")
def wheelhouse() -> Path:
    return downloaded_wheels()


@pytest.fixture(scope="session")
def dist(wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make dist` writes."""
    top = tmp_path_factory.mktemp("release")
    subprocess.run(
        [sys.executable, "-m", "release", top / "dist"],
        cwd=ROOT,
        env=new_environ(top, wheelhouse),
        check=True,
    )
    return top / "dist"


@pytest.fixture(scope="session")
def bare(dist: Path, wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """The release in a new environment, with a HOME of its own and nothing else."""
    made = Bare(tmp_path_factory.mktemp("bare"), dist, wheelhouse)
    made.run(sys.executable, "-m", "venv", "venv", check=True)
    pip = ("venv/bin/python", "-m", "pip", "-q", "install", "--find-links", str(dist))
    made.run(*pip, "-r", str(dist / "constraints.txt"), check=True)
    return made
