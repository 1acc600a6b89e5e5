"""The `masthead` command: the list of its commands, and how errors are printed.

The module of a command is imported when the command runs, so that help and usage errors are quick.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

from masthead.base.errors import Invalid, MastheadError
from masthead.base.version import running_version
from masthead.service.cli.invocation import (
    Group,
    Invocation,
    data_dir_option,
    database_url_option,
    json_option,
)

COMMANDS = {
    "init": "Writes the folders, settings, systemd unit and proxy file of a new server.",
    "serve": "Serves the APIs and the sites, and runs the background worker.",
    "worker": "Runs a separate background worker.",
    "migrate": "Upgrades the database to the current schema.",
    "tenant": "Creates, lists, suspends and deletes tenants, and changes their plan.",
    "owner": "Invites owners of a tenant and resets their passwords.",
    "operator": "Creates, lists and deletes platform operators, and resets their passwords.",
    "key": "Creates, lists and revokes API keys.",
    "member": "Creates, lists and deletes members.",
    "trash": "Lists and restores deleted posts, pages and files, and empties the trash.",
    "mail": "Processes notices of undeliverable emails.",
    "settings": "Reads and changes a tenant's site settings.",
    "openapi": "Prints the OpenAPI document of the public API.",
    "deliveries": "Lists webhook deliveries and retries dead ones.",
    "listen": "Prints a tenant's events as they happen.",
    "asyncapi": "Prints the AsyncAPI description of all events.",
    "import": "Imports posts, members and pictures from another platform, and undoes it.",
    "export-site": "Writes a tenant's content in formats that other platforms import.",
    "site": "Moves one whole site between installations, as a file.",
    "backup": "Writes database, media and secrets into one archive.",
    "restore": "Restores a backup into an empty installation.",
    "doctor": "Checks the installation and says what to fix.",
}
"""Each has a module of the same name in `commands`, with underscores for hyphens."""

MODULES = {"import": "imports"}
"""For names that are keywords of Python."""

DONE, FAILED, WRONG_USAGE = 0, 1, 2


class Commands(Group):
    """Lists every command by name and help text, and loads the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name, found, rest = super().resolve_command(ctx, args)
        return name, load(name) if name and found else None, rest


def load(name: str) -> click.Command:
    """A group is the module's `app`; a single command has the name of its module."""
    module_name = MODULES.get(name, name.replace("-", "_"))
    module = import_module(f"masthead.service.cli.commands.{module_name}")
    loaded: click.Command = getattr(module, "app", None) or getattr(module, module_name)
    loaded.name = name
    return loaded


def build() -> click.Group:
    @click.group(
        cls=Commands,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    @data_dir_option
    @database_url_option
    @json_option
    @click.option(
        "--version",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Show the version and exit.",
    )
    @click.pass_context
    def root(
        context: click.Context, data_dir: Path | None, database_url: str | None, as_json: bool
    ) -> None:
        """Masthead: a self-hosted blog and membership platform with an API for everything."""
        context.obj = Invocation(data_dir, database_url, as_json)

    for name, help_text in COMMANDS.items():
        root.add_command(click.Command(name, help=help_text))
    return root


def _print_version(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(f"masthead {running_version()}")
        context.exit()


def run(arguments: Sequence[str] | None = None) -> None:
    """The entry point; always ends the process."""
    # Loading creates a quarter of a million objects and hardly any garbage. Scanning them takes a
    # quarter of the start. The command enables it again.
    gc.disable()
    code = main(sys.argv[1:] if arguments is None else arguments)
    # So that Python does not scan all objects at exit.
    gc.freeze()
    sys.exit(code)


def main(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code: 0 done, 1 failed, 2 wrong usage."""
    try:
        return build().main(list(arguments), prog_name="masthead", standalone_mode=False) or DONE
    except NoArgsIsHelpError as error:
        sys.stderr.write(error.format_message() + "\n")
        return WRONG_USAGE
    except click.ClickException as error:
        _print_error(error.format_message())
        return error.exit_code
    except Invalid as error:
        problems = error.problems.items()
        _print_error(" ".join(f"{name}: {problem.message}" for name, problem in problems))
    except MastheadError as error:
        _print_error(str(error))
    except (KeyboardInterrupt, click.Abort):
        _print_error("Interrupted")
    except BrokenPipeError:
        # The reader of the output has closed it.
        sys.stderr.close()
    # The edge of the command line: one sentence, and a traceback in Python's development mode.
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        _print_error(
            f"This should not have happened ({type(error).__name__}: {error}). Please report it, "
            "with the output of `python -X dev -m masthead`"
        )
    return FAILED


def _print_error(sentence: str) -> None:
    one_line = " ".join(sentence.split())
    if not one_line.endswith((".", "?", "!")):
        one_line += "."
    sys.stderr.write(f"masthead: {one_line}\n")


if __name__ == "__main__":
    run()
