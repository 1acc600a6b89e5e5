"""docs/operations.md lists exactly the commands and flags that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from masthead.service.cli.main import COMMANDS, build, load

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
GLOBAL = {"--data-dir", "--database-url", "--json", "--version", "--help", "-h"}
ALIASES = {"--tenant-id"}


def documented() -> dict[str, set[str]]:
    rows = re.findall(r"^\| `masthead ([^`]+)` \|", PAGE.read_text(), re.MULTILINE)
    found = {}
    for row in rows:
        words = re.match(r"[a-z-]+( [a-z][a-z-]*\b)?", row)
        assert words
        found[words[0]] = set(re.findall(r"--[a-z-]+", row))
    return found


def existing() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name in COMMANDS:
        command = load(name)
        below = getattr(command, "commands", None)
        if below is None:
            found[name] = flags(command)
        else:
            found |= {f"{name} {each}": flags(inner) for each, inner in below.items()}
    return found


def flags(command: Any) -> set[str]:
    options = [each for each in command.params if each.param_type_name == "option"]
    names = {name for each in options for name in (*each.opts, *each.secondary_opts)}
    return names - GLOBAL - ALIASES


def test_every_command_and_flag_is_documented_and_nothing_else() -> None:
    assert documented() == existing()


def test_the_global_options_are_documented() -> None:
    page = PAGE.read_text()
    own = {name for each in build().params for name in each.opts} - {"-h", "--help"}
    assert own == GLOBAL - {"-h", "--help"}
    assert all(re.search(rf"`(masthead )?{name}\b", page) for name in own | ALIASES)
