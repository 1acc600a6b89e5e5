"""The file that a command writes: an existing one only with `--replace`."""

from __future__ import annotations

from pathlib import Path

import click

replace_option = click.option("--replace", is_flag=True, help="Replace the file if it exists.")


def refuse_existing(path: Path, *, replace: bool) -> None:
    """Before the work, which may take minutes."""
    if not replace and path.is_file():
        raise click.ClickException(f"{path} exists already. Name a new file, or add --replace")
