"""What every command shares: the global options, the settings, and one way to print a result.

A command is a plain function that takes an `Invocation` first and returns `Shown`, what it has to
say for a person and for a program.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import masthead
from masthead.cli.plain_values import PlainCommand, PlainGroup

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", metavar="DIR", help="Instead of MASTHEAD_DATA_DIR.")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option("--database-url", metavar="URL", help="Instead of MASTHEAD_DATABASE_URL."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object or array.")]


def _show_version(is_asked: bool) -> None:
    if is_asked:
        sys.stdout.write(f"masthead {masthead.__version__}\n")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version."),
]


@dataclass(frozen=True, slots=True)
class Shown:
    data: Any
    """What `--json` prints."""
    text: str = ""
    columns: Sequence[str] = ()
    """A list of objects is shown to a person as a table of these."""
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Invocation:
    data_dir: Path | None = None
    database_url: str | None = None
    as_json: bool = False

    def settings(self) -> Any:
        """The `Settings` of this run."""
        # Here, so that `--help` and wrong usage answer without loading them.
        from masthead.settings import Settings

        return Settings.from_environ(
            os.environ, data_dir=self.data_dir, database_url=self.database_url
        )


def root(
    context: typer.Context,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
    version: Version = False,  # noqa: ARG001 - its callback has answered
) -> None:
    """Masthead: a self-hosted blog and membership platform with an API for everything."""
    context.obj = Invocation(data_dir, database_url, as_json)


def new_app(help_text: str = "") -> typer.Typer:
    """What a command's module registers with. With a help text it is a group of commands."""
    app = typer.Typer(cls=PlainGroup, add_completion=False, no_args_is_help=bool(help_text))
    if help_text:
        # With a callback of its own a group stays one even while it has a single command.
        app.callback(help=help_text)(lambda: None)
    return app


Work = Callable[..., Shown | Coroutine[Any, Any, Shown | None] | None]


def command(
    app: typer.Typer, name: str, *, prints: bool = True
) -> Callable[[Work], Callable[..., None]]:
    """Registers a command that takes the global options in its own place too.

    Typer reads a function's signature, so the options are added there, in one place for all.
    """

    def register(work: Work) -> Callable[..., None]:
        run = _with_global_options(work, prints)
        app.command(name, cls=PlainCommand)(run)
        return run

    return register


def _with_global_options(work: Work, prints: bool) -> Callable[..., None]:
    signature = inspect.signature(work, eval_str=True)
    own = list(signature.parameters.values())[1:]

    def run(context: typer.Context, **given: Any) -> None:
        invocation = Invocation(
            given.pop("data_dir") or context.obj.data_dir,
            given.pop("database_url") or context.obj.database_url,
            given.pop("as_json", False) or context.obj.as_json,
        )
        collect_from_now_on()
        shown = work(invocation, **given)
        if inspect.iscoroutine(shown):
            shown = asyncio.run(shown)
        if isinstance(shown, Shown):
            show(shown, as_json=invocation.as_json)
            raise typer.Exit(shown.exit_code)

    added = inspect.signature(root, eval_str=True).parameters
    shared = [added["data_dir"], added["database_url"], *([added["as_json"]] if prints else [])]
    parameters = [added["context"], *own, *shared]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    )
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__doc__ = work.__doc__
    return run


def collect_from_now_on() -> None:
    """What was loaded so far stays, and is not looked through."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


@contextmanager
def loading() -> Iterator[None]:
    """Around what a command loads once it is at work: as before it, garbage is not looked for."""
    gc.disable()
    try:
        yield
    finally:
        collect_from_now_on()


def show(shown: Shown, *, as_json: bool) -> None:
    if as_json:
        import msgspec

        sys.stdout.write(msgspec.json.encode(shown.data).decode() + "\n")
    elif shown.columns and shown.data:
        _show_table(shown.data, shown.columns)
    elif shown.text:
        sys.stdout.write(shown.text + "\n")


def _show_table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in columns))
    # A pipe has no width of its own, and a wrapped row is of no use to the next program.
    Console(width=None if sys.stdout.isatty() else 1_000, markup=False).print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
