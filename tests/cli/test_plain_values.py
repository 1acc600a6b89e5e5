"""What a command is given, by our reading of plain values and by Typer's of all others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer._click.exceptions import BadParameter

from masthead.cli.plain_values import PlainCommand


def given(*arguments: str, cls: type[PlainCommand] | None = PlainCommand) -> dict[str, Any]:
    """What a command gets that was called with these."""
    app, got = typer.Typer(), {}

    @app.command(cls=cls)
    def work(
        text: str = "",
        path: Path | None = None,
        number: Annotated[int, typer.Option(min=1, max=65_535)] = 8,
        wide: int | None = None,
        folder: Annotated[Path | None, typer.Option(file_okay=False)] = None,
        is_on: bool = False,
    ) -> None:
        got.update(locals())

    typer.main.get_command(app).main(list(arguments), standalone_mode=False)
    return {name: value for name, value in got.items() if name != "got"}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--text", "a b", "--path", "nothing/here", "--number", "1", "--is-on"),
        ("--text", "", "--path", "", "--number", "65535"),
        ("--path", ".", "--folder", "."),
        ("--path", "~/a"),
        ("--number", " 7 "),
        ("--number", "+7"),
        ("--number", "007"),
        ("--number", "1_0"),
        ("--wide", "-12"),
        ("--wide", "123456789012345678"),
        ("--wide", "12345678901234567890"),
    ],
)
def test_a_value_is_what_typer_would_make_of_it(arguments: tuple[str, ...]) -> None:
    assert given(*arguments) == given(*arguments, cls=None)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--number", "0"),
        ("--number", "65536"),
        ("--number", "many"),
        ("--number", "٧"),
        ("--number", ""),
        ("--wide", "1.5"),
        ("--path", "a\0b"),
        ("--folder", __file__),
    ],
)
def test_a_refusal_is_typers_own(arguments: tuple[str, ...]) -> None:
    with pytest.raises(BadParameter) as ours:
        given(*arguments)
    with pytest.raises(BadParameter) as typers:
        given(*arguments, cls=None)
    assert ours.value.format_message() == typers.value.format_message()
