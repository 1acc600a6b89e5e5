"""A commit as files with an environment of its own, kept below `build/` for the next run."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "commits"
_READY = ".ready"


@dataclass(frozen=True)
class Checkout:
    name: str
    command: str
    """The path of its `masthead`."""


def current() -> Checkout:
    """The files as they are here, committed or not."""
    changed = "+" if _git("status", "--porcelain", "--untracked-files=no") else ""
    command = Path(sys.executable).with_name("masthead")
    return Checkout(f"{_git('rev-parse', '--short', 'HEAD')}{changed}", str(command))


def of_commit(named: str) -> Checkout:
    """Installed with its own locks, which takes a minute or two the first time."""
    commit = _git("rev-parse", "--verify", f"{named}^{{commit}}")
    folder = KEPT / commit
    if not (folder / _READY).exists():
        print(f"installing {named} in {folder.relative_to(ROOT)}", file=sys.stderr)
        _extract(commit, folder)
        # Without the variables of the `make` that runs the bench, and with the same Python.
        environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
        python = Path(sys.base_prefix) / "bin" / "python3"
        install = ["make", "-C", str(folder), f"PYTHON={python}", "install"]
        subprocess.run(install, check=True, stdout=sys.stderr, env=environment)
        (folder / _READY).touch()
    return Checkout(_git("rev-parse", "--short", commit), str(folder / ".venv/bin/masthead"))


def _extract(commit: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
