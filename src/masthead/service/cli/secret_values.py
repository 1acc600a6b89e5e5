"""Passwords and secrets: from the command line, from standard input, or from a prompt.

A command line is visible in the shell's history and in the list of processes.
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
        name, metavar="P", help="`-` reads it from standard input; prompted for if missing."
    )


def new_password(given: str | None, option: str, *, required: bool = True) -> str:
    """A prompt asks twice, because the input is not shown."""
    if given is not None:
        return read_secret(given, option)
    if not sys.stdin.isatty():
        if not required:
            return ""
        raise UsageError(f"Missing option '{option}'; `{option} -` reads it from standard input")
    typed = _prompt("Password: " if required else "Password (empty for none): ")
    if typed and _prompt("Repeat the password: ") != typed:
        raise UsageError("The two passwords differ")
    return typed


def read_secret(given: str, name: str) -> str:
    """The value, or the next line of standard input for `-`."""
    if given != STANDARD_INPUT:
        return given
    line = sys.stdin.readline()
    if not line.strip():
        raise UsageError(f"Standard input has no value for {name}")
    return line.rstrip("\r\n")


def prompt_secret(name: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError(f"Missing value of {name}; `{name}=-` reads it from standard input")
    return _prompt(f"{name}: ")


def _prompt(text: str) -> str:
    try:
        return getpass.getpass(text)
    except EOFError:
        raise click.Abort from None
