"""The `masthead` command: which commands there are, and how a failure is told.

A command's module is imported when it is called for, so that help and wrong usage answer at once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer._click.exceptions import ClickException, NoArgsIsHelpError
from typer.core import TyperCommand, TyperGroup

from masthead.cli.invocation import root
from masthead.cli.plain_values import PlainGroup
from masthead.errors import Invalid, MastheadError

COMMANDS = {
    "serve": "Serves everything: APIs, admin, reader site and background worker.",
    "worker": "Runs a background worker of its own.",
    "migrate": "Brings the database to the current schema.",
    "tenant": "Creates and lists tenants, and changes their plan.",
    "operator": "Creates platform operators.",
    "key": "Creates, lists and revokes API keys.",
    "member": "Creates members.",
    "settings": "Reads and changes a tenant's site settings.",
    "openapi": "Prints the OpenAPI document of the public API.",
    "deliveries": "Lists webhook deliveries and retries dead ones.",
    "listen": "Prints a tenant's events as they happen.",
    "asyncapi": "Prints the AsyncAPI description of all events.",
    "import": "Imports posts, members and pictures from another platform.",
    "export-site": "Writes a tenant's content in formats that others import.",
    "backup": "Writes database, media and secrets into one archive.",
    "restore": "Restores a backup into an empty installation.",
    "doctor": "Checks the installation and says what to fix.",
}
"""Each is the module of the same name beside this one, a hyphen being an underscore there."""

MODULES = {"import": "imports"}
"""But for what Python keeps for itself."""

DONE, FAILED, WRONG_USAGE = 0, 1, 2


class Commands(PlainGroup):
    """Knows every command by name and loads the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, found, rest = super().resolve_command(ctx, args)
        return name, load(name) if name and found else None, rest


def load(name: str) -> Any:
    module = import_module(f"masthead.cli.{MODULES.get(name, name.replace('-', '_'))}")
    loaded = typer.main.get_command(module.app)
    loaded.name = name
    return loaded


def build() -> TyperGroup:
    app = typer.Typer(
        cls=Commands,
        no_args_is_help=True,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    group = typer.main.get_group(app)
    for name, help_text in COMMANDS.items():
        group.add_command(TyperCommand(name, help=help_text))
    return group


def run(arguments: Sequence[str] | None = None) -> None:
    """The entry point; always ends the process."""
    # Loading makes a quarter of a million objects and hardly any garbage: looking through them
    # over and over takes a quarter of the start. The command switches it on again.
    gc.disable()
    code = main(sys.argv[1:] if arguments is None else arguments)
    # Nor at the end, where Python would look for garbage in what goes with the process anyway.
    gc.freeze()
    sys.exit(code)


def main(arguments: Sequence[str]) -> int:
    """Runs one command and returns its exit code: 0 done, 1 failed, 2 wrong usage."""
    try:
        return build().main(list(arguments), prog_name="masthead", standalone_mode=False) or DONE
    except NoArgsIsHelpError as error:
        sys.stderr.write(error.format_message() + "\n")
        return WRONG_USAGE
    except ClickException as error:
        _tell(error.format_message())
        return error.exit_code
    except Invalid as error:
        _tell(in_words(error))
    except MastheadError as error:
        _tell(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _tell("Interrupted")
    except BrokenPipeError:
        # Whoever read the output has had enough; there is nobody left to tell.
        sys.stderr.close()
    # The command line's outermost edge: a person gets a sentence, a developer asks for more.
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        _tell(
            f"This should not have happened ({type(error).__name__}: {error}). Please report it, "
            "with what `python -X dev -m masthead` says"
        )
    return FAILED


def in_words(error: Invalid) -> str:
    return " ".join(f"{name}: {problem.message}" for name, problem in error.problems.items())


def _tell(sentence: str) -> None:
    # Typer's own refusals of a value start with the name of an exception.
    one_line = " ".join(sentence.replace("Value error, ", "").split())
    if not one_line.endswith((".", "?", "!")):
        one_line += "."
    sys.stderr.write(f"masthead: {one_line}\n")


if __name__ == "__main__":
    run()
