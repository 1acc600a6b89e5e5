"""The parts that all commands share: the global options, the settings, and one way to print a
result.

A command is a function that takes an `Invocation` first and returns `Output`, its result as text
and as JSON.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from masthead.base.languages.words import as_text


class Output(NamedTuple):
    data: Any
    """The value that `--json` prints."""
    text: str = ""
    columns: Sequence[str] = ()
    """Without `--json`, a list of objects is printed as a table of these columns."""
    exit_code: int = 0


class Invocation(NamedTuple):
    data_dir: Path | None = None
    database_url: str | None = None
    as_json: bool = False

    def settings(self) -> Any:
        """The `Settings` of this run."""
        # Imported here, so that `--help` and usage errors are quick.
        from masthead.base.config.settings import Settings

        return Settings.from_environ(
            os.environ, data_dir=self.data_dir, database_url=self.database_url
        )


data_dir_option = click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Instead of MASTHEAD_DATA_DIR.",
)
database_url_option = click.option(
    "--database-url", metavar="URL", help="Instead of MASTHEAD_DATABASE_URL."
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object or array."
)

Function = Callable[..., Output | Coroutine[Any, Any, Output | None] | None]


def command(
    name: str, group: click.Group | None = None, *, prints: bool = True
) -> Callable[[Function], click.Command]:
    """A command with the global options, which may be given before or after its name.

    `prints` is whether it has a result, and so `--json`.
    """

    def register(function: Function) -> click.Command:
        # `wraps` also copies the options that the function is decorated with.
        @functools.wraps(function)
        @click.pass_context
        def run(
            context: click.Context,
            /,
            data_dir: Path | None,
            database_url: str | None,
            as_json: bool = False,
            **given: Any,
        ) -> None:
            root: Invocation = context.obj
            _run(
                function,
                Invocation(
                    data_dir or root.data_dir,
                    database_url or root.database_url,
                    as_json or root.as_json,
                ),
                given,
            )

        with_options = data_dir_option(database_url_option(json_option(run) if prints else run))
        decorator = group.command if group else click.command
        return decorator(name)(with_options)

    return register


def _run(function: Function, invocation: Invocation, given: dict[str, Any]) -> None:
    enable_gc()
    shown = function(invocation, **given)
    if inspect.iscoroutine(shown):
        shown = asyncio.run(shown)
    if isinstance(shown, Output):
        show(shown, as_json=invocation.as_json)
        raise click.exceptions.Exit(shown.exit_code)


class Group(click.Group):
    """Lists its commands with the first sentence of their help, in several lines if need be."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, each.get_short_help_str(limit=1_000)) for name, each in found if each]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def new_group(help_text: str) -> click.Group:
    return Group(help=help_text, no_args_is_help=True)


def enable_gc() -> None:
    """`main.run` disables it while modules are loaded. Loaded objects are never scanned."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def show(shown: Output, *, as_json: bool) -> None:
    if as_json:
        import msgspec

        sys.stdout.write(msgspec.json.encode(shown.data, enc_hook=as_text).decode() + "\n")
    elif shown.columns and shown.data:
        _show_table(shown.data, shown.columns)
    elif shown.text:
        sys.stdout.write(shown.text + "\n")


def _show_table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """A row is a line, however long it is: another program may parse it."""
    table = [list(columns), *([_cell(row[name]) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    header, *lines = ("  ".join(map(str.ljust, cells, widths)).rstrip() for cells in table)
    click.echo("\n".join((click.style(header, bold=True), *lines)))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return " ".join(text.split())
