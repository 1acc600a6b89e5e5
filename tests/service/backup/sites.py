"""An installation of its own for a test of backups: where it is, its commands, and its rows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from tests.databases import empty_postgres_url
from tests.forking import forked_program
from tests.service.cli.commands import Outcome, plain_environment
from tests.world import RunningClock, World, open_world

from masthead.service.backup.take import LEFT_OUT
from masthead.service.schema import complete_metadata
from masthead.storage.migrate import migrate
from masthead.storage.snapshot import open_snapshot


@dataclass
class Installation:
    data_dir: Path
    database_url: str
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def empty(cls, engine: str, folder: Path, **environment: str) -> Installation:
        """Nothing is there: no folder, no table."""
        data_dir = folder / "data"
        url = empty_postgres_url() if engine == "postgresql" else f"sqlite:///{data_dir}/own.db"
        return cls(data_dir, url, environment)

    async def command(self, *arguments: str) -> Outcome:
        """A process of its own, while this one goes on serving."""
        process = await asyncio.create_subprocess_exec(
            forked_program(),
            *arguments,
            "--data-dir",
            str(self.data_dir),
            "--database-url",
            self.database_url,
            env=plain_environment(**self.environment),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode is not None
        return Outcome(process.returncode, out.decode(), err.decode())

    async def json(self, *arguments: str) -> Any:
        outcome = await self.command(*arguments, "--json")
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[World]:
        """With the root secret that the installation has; an empty one gets its schema first."""
        self.data_dir.mkdir(exist_ok=True)
        await migrate(self.database_url)
        environment = {"MASTHEAD_SECRET_KEY": ""} | self.environment
        world = await open_world(self.database_url, self.data_dir, RunningClock(), **environment)
        try:
            yield world
        finally:
            await world.parts.close()

    async def rows(self) -> dict[str, list[Any]]:
        """Everything in the database but the search index, in one order."""
        async with open_snapshot(self.database_url) as snapshot:
            return {
                table.name: await _sorted_rows(snapshot, table)
                for table in complete_metadata().sorted_tables
                if table.name not in LEFT_OUT
            }


async def _sorted_rows(snapshot: Any, table: sa.Table) -> list[Any]:
    columns = list(table.columns)
    found = [
        tuple(_comparable(value) for value in row)
        async for rows in snapshot.rows(*columns)
        for row in rows
    ]
    return sorted(found, key=repr)


def _comparable(value: Any) -> Any:
    """PostgreSQL writes JSON with blanks, and its keys in an order of its own."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.dumps(json.loads(value), sort_keys=True)
        except ValueError:
            return value
    return value
