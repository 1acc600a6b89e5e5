"""Processes of the service that start in milliseconds, as forks of one that has it imported."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.budget import once

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@cache
def forked_program(function: str = "masthead.service.cli.main:run") -> Path:
    """A program that runs `module:function` in a fork; by default it is the `masthead` command.

    It behaves as if the process were its own: standard streams, environment, folder, arguments,
    SIGTERM and SIGINT, exit code. Its process id is another, and it does not have its terminal.
    """
    folder, socket = _parent()
    program = folder / function.replace(":", ".")
    client = (HERE / "client.py").read_text()
    # Isolated and without site-packages, Python starts in a few milliseconds.
    program.write_text(f"#!{sys.executable} -IS\n{client}\nmain({socket!r}, {function!r})\n")
    program.chmod(0o700)
    return program


@once
def _parent() -> tuple[Path, str]:
    """The folder of the programs and the socket of the process that forks, which ends with us."""
    folder = Path(tempfile.mkdtemp(prefix="masthead-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    socket = str(folder / "socket")
    # The service refuses settings that it does not know, those of tests among them.
    inherited = {name: each for name, each in os.environ.items() if "MASTHEAD" not in name}
    imported_from = os.pathsep.join(filter(None, [str(ROOT), inherited.get("PYTHONPATH", "")]))
    parent = subprocess.Popen(
        [sys.executable, str(HERE / "parent.py"), socket],
        env={**inherited, "PYTHONPATH": imported_from},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    atexit.register(_end, parent)
    return folder, socket


def _end(parent: subprocess.Popen[bytes]) -> None:
    parent.communicate()
