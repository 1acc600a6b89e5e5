"""`masthead listen`: prints a tenant's events as they happen, for developers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable

import click
import msgspec
from rich.console import Console
from rich.text import Text

from masthead.base.ids import TenantId
from masthead.base.suggestions import suggestion
from masthead.engine.events.catalog import CATALOG, Category
from masthead.engine.events.log import EventLog, LoggedEvent
from masthead.engine.events.names import EVENT_NAMES
from masthead.service.cli.arguments import parse_time, tenant_option
from masthead.service.cli.invocation import Invocation, command
from masthead.service.cli.opened_installation import opened_site

POLL_SECONDS = 0.5
LONGEST_NAME = max(map(len, EVENT_NAMES))

COLOURS = {
    Category.CONTENT: "green",
    Category.COMMENTS: "yellow",
    Category.MEMBERS: "magenta",
    Category.MAILINGS: "bright_magenta",
    Category.MEDIA: "blue",
    Category.COMMERCE: "cyan",
    Category.SYSTEM: "white",
}
_COLOUR_OF = {kind.name: COLOURS[kind.category] for kind in CATALOG}


@command("listen")
@tenant_option
@click.option("--event", metavar="NAME", default="", help="Only events of this name.")
@click.option("--since", metavar="ISO", default="", help="Print the events after this time first.")
async def listen(invocation: Invocation, tenant: str, event: str, since: str) -> None:
    """Prints a tenant's events as they happen, until Ctrl-C; with --json one object per line."""
    name = check_event(event) if event else None
    since = parse_time(since, "--since")
    stopping = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopping.set)
    async with opened_site(invocation, tenant) as site:
        follower = Follower(EventLog(site.parts.database), site.id, name)
        await follower.start(since)
        sys.stderr.write(f"Listening to the events of {tenant}. Press Ctrl-C to stop.\n")
        show = _print_json if invocation.as_json else _line_printer()
        async for logged in follower.events(stopping):
            show(logged)


def check_event(name: str) -> str:
    if name not in EVENT_NAMES:
        raise click.BadParameter(
            f"{name!r} is not an event; {suggestion(name, EVENT_NAMES)}", param_hint="--event"
        )
    return name


class Follower:
    """Reads a tenant's event log by cursor, without gaps."""

    def __init__(self, log: EventLog, tenant_id: TenantId, name: str | None) -> None:
        self._log = log
        self._tenant_id = tenant_id
        self._name = name
        self._last_id = ""
        self._since = ""

    async def start(self, since: str) -> None:
        """After the newest event, or at `since`."""
        self._since = since
        newest = await self._log.newest(self._tenant_id)
        if newest and (not since or newest[0].created <= since):
            self._move_to(newest[0])

    async def events(self, stopping: asyncio.Event) -> AsyncIterator[LoggedEvent]:
        while not stopping.is_set():
            found = await self._next()
            for event in found:
                self._move_to(event)
                yield event
            if not found:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), POLL_SECONDS)

    async def _next(self) -> list[LoggedEvent]:
        if self._last_id:
            found = await self._log.after(self._tenant_id, self._last_id, name=self._name)
            if found is not None:
                return found
        # There is no event at the cursor yet, or it was erased.
        return await self._log.oldest(self._tenant_id, name=self._name, since=self._since)

    def _move_to(self, event: LoggedEvent) -> None:
        self._last_id, self._since = event.id, event.created


def _print_json(event: LoggedEvent) -> None:
    item = {
        "id": event.id,
        "event": event.name,
        "created": event.created_seconds,
        "data": msgspec.Raw(event.payload.encode()),
    }
    sys.stdout.write(msgspec.json.encode(item).decode() + "\n")
    sys.stdout.flush()


def _line_printer() -> Callable[[LoggedEvent], None]:
    console = Console(highlight=False, markup=False)

    def show(event: LoggedEvent) -> None:
        line = Text.assemble(
            (event.created[11:19], "dim"),
            "  ",
            (event.name.ljust(LONGEST_NAME), _COLOUR_OF.get(event.name, "")),
            "  ",
            _payload_text(event),
        )
        # One row per event on a terminal; a pipe has no width, so nothing is cut there.
        crop = console.is_terminal
        console.print(line, no_wrap=True, overflow="ellipsis" if crop else "ignore", crop=crop)
        console.file.flush()

    return show


def _payload_text(event: LoggedEvent) -> str:
    payload = json.loads(event.payload)
    payload.pop("tenant_id", None)
    text = " ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in payload.items()
    )
    # Guests may have written this text, so it must not hold control sequences.
    return "".join(each if each.isprintable() else "·" for each in text)
