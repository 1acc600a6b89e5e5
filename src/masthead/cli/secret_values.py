"""Passwords and secrets: from the command line, from standard input, or from a prompt.

What stands on a command line is in the shell's history and in the list of processes.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click import UsageError

STANDARD_INPUT = "-"
F = TypeVar("F", bound=Callable[..., Any])


def password_option(name: str) -> Callable[[F], F]:
    return click.option(
        name, metavar="P", help="`-` reads it from standard input; asked for if missing."
    )


def new_password(given: str | None, option: str, *, required: bool = True) -> str:
    """Of a prompt it is asked twice, for nobody sees what is typed."""
    if given is not None:
        return read_secret(given, option)
    if not sys.stdin.isatty():
        if not required:
            return ""
        raise UsageError(f"Missing option '{option}'; `{option} -` reads it from standard input")
    typed = _ask("Password: " if required else "Password (empty for none): ")
    if typed and _ask("Once more: ") != typed:
        raise UsageError("The two passwords differ")
    return typed


def read_secret(given: str, name: str) -> str:
    """The value itself, or the next line of standard input."""
    if given != STANDARD_INPUT:
        return given
    line = sys.stdin.readline()
    if not line.strip():
        raise UsageError(f"Standard input has no value for {name}")
    return line.rstrip("\r\n")


def ask_secret(name: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError(f"Missing value of {name}; `{name}=-` reads it from standard input")
    return _ask(f"{name}: ")


def _ask(prompt: str) -> str:
    try:
        return getpass.getpass(prompt)
    except EOFError:
        raise click.Abort from None
