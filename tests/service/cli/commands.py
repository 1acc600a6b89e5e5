"""The `masthead` command as a test calls it: in this process, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.databases import run_apart
from tests.forking import forked_program

from masthead.base import clock
from masthead.base.config.settings import Settings
from masthead.service.cli.main import main
from masthead.service.services import Services, build

COMMAND = Path(sys.executable).with_name("masthead")
"""The installed program; `forked_program()` behaves the same and starts in milliseconds."""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Parses what was printed, which must be one JSON value and nothing else."""
        assert self.code == 0, self.err
        return json.loads(self.out)


@dataclass(frozen=True)
class Masthead:
    """The command on one database."""

    database_url: str
    data_dir: Path
    capture: pytest.CaptureFixture[str]

    @property
    def options(self) -> tuple[str, ...]:
        return ("--data-dir", str(self.data_dir), "--database-url", self.database_url)

    def __call__(self, *arguments: str) -> Outcome:
        return call(self.capture, *arguments, *self.options)

    def piped(self, text: str, *arguments: str) -> Outcome:
        """In a process whose standard input is a pipe with this text."""
        done = subprocess.run(
            [forked_program(), *arguments, *self.options],
            input=text,
            env=plain_environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: str) -> Any:
        return self(*arguments, "--json").json

    def tenant(self, slug: str = "acme", **options: str) -> Any:
        given = {
            "name": "Acme",
            "plan": "pro",
            "owner-email": f"owner@{slug}.example",
            "owner-password": "correct horse",
            **options,
        }
        flags = [part for name, value in given.items() for part in (f"--{name}", value)]
        return self.json("tenant", "create", "--slug", slug, *flags)

    def inside(
        self, work: Callable[[Services], Awaitable[Any]], now: clock.Clock = clock.now
    ) -> Any:
        """Runs `work` on the installation of the commands."""

        async def run() -> Any:
            settings = Settings.from_environ(
                {}, data_dir=self.data_dir, database_url=self.database_url
            )
            parts = await build(settings, now)
            try:
                return await work(parts)
            finally:
                await parts.close()

        return run_apart(run)


def call(capture: pytest.CaptureFixture[str], *arguments: str) -> Outcome:
    capture.readouterr()
    code = main(arguments)
    captured = capture.readouterr()
    return Outcome(code, captured.out, captured.err)


def plain_environment(**more: str) -> dict[str, str]:
    """Without the settings of the machine that runs the tests."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("MASTHEAD_")}
    return {**others, **more}
