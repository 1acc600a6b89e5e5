"""`masthead serve`: runs the HTTP server and the background worker, in one process or several."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click
import msgspec
import uvloop

from masthead.base.config.settings import Settings
from masthead.base.config.values import Url
from masthead.service.cli.invocation import Invocation, command
from masthead.service.cli.opened_installation import configure_logs, migrate_schema
from masthead.service.serve.listener import address_of, base_url_for, listen
from masthead.service.serve.metrics_place import MetricsPlace, metrics_place

# The parent of several server processes loads nothing of the service.
if TYPE_CHECKING:
    from masthead.service.demo.access import DemoAccess
    from masthead.service.services import Services


@command("serve", prints=False)
@click.option(
    "--host",
    "hosts",
    metavar="H",
    multiple=True,
    default=["127.0.0.1"],
    show_default=True,
    help="Can be given several times; `::` also serves IPv4.",
)
@click.option("--port", metavar="P", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Server processes.",
)
@click.option("--no-worker", is_flag=True, help="Do not run the background worker.")
@click.option("--demo/--no-demo", help="Seed a demo tenant into an empty database.")
def serve(
    invocation: Invocation,
    hosts: Sequence[str],
    port: int,
    workers: int,
    *,
    no_worker: bool,
    demo: bool,
) -> None:
    """Migrates the database if needed, then serves. SIGTERM finishes open requests and stops."""
    settings: Settings = invocation.settings()
    configure_logs(settings)
    listeners = listen(*hosts, port=port)
    if not os.environ.get("MASTHEAD_BASE_URL", "").strip():
        base_url = base_url_for(hosts[0], listeners[0].getsockname()[1], _scheme(settings))
        settings = dataclasses.replace(settings, base_url=Url(base_url))
    with metrics_place(settings, processes=workers) as metrics:
        place = Listening(listeners, metrics)
        if workers == 1:
            work = _serve_in_process(settings, place, with_worker=not no_worker, demo=demo)
        else:
            work = _serve_with_workers(
                settings, place, workers, with_worker=not no_worker, demo=demo
            )
        uvloop.run(work)


class Listening(msgspec.Struct, frozen=True):
    """Where the service is reached."""

    listeners: Sequence[socket.socket]
    metrics: MetricsPlace

    def addresses(self, settings: Settings) -> list[str]:
        return [address_of(each, _scheme(settings)) for each in self.listeners]


async def _serve_in_process(
    settings: Settings, place: Listening, *, with_worker: bool, demo: bool
) -> None:
    from masthead.service.serve.process import ServerProcess

    await migrate_schema(settings)
    server = ServerProcess(
        settings, place.listeners, with_worker=with_worker, metrics=place.metrics
    )
    _on_signals(server.stop)

    async def print_ready(parts: Services) -> None:
        _print_ready(place.addresses(settings), await _demo_access(parts) if demo else None)

    await server.run(print_ready)


async def _serve_with_workers(
    settings: Settings,
    place: Listening,
    count: int,
    *,
    with_worker: bool,
    demo: bool,
) -> None:
    from masthead.service.serve.supervisor import Supervisor

    await migrate_schema(settings)
    access = await _seed_demo(settings) if demo else None
    supervisor = Supervisor(
        settings, place.listeners, count, with_worker=with_worker, metrics=place.metrics
    )
    _on_signals(supervisor.stop)
    addresses = place.addresses(settings)
    ready = asyncio.get_running_loop().create_future()
    ready.add_done_callback(lambda _: _print_ready(addresses, access))
    await supervisor.run(ready)


async def _seed_demo(settings: Settings) -> DemoAccess | None:
    from masthead.service.services import build

    parts = await build(settings)
    try:
        return await _demo_access(parts)
    finally:
        await parts.close()


async def _demo_access(parts: Services) -> DemoAccess | None:
    from masthead.service.demo.access import demo_access

    return await demo_access(parts)


def _scheme(settings: Settings) -> str:
    return "https" if settings.tls_cert else "http"


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop)


def _print_ready(addresses: Sequence[str], access: DemoAccess | None) -> None:
    listening = [f"listening on {address}" for address in addresses]
    lines = [*listening, *(access.lines() if access else ())]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
