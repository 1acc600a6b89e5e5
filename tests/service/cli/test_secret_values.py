"""Passwords and secrets from standard input and from a prompt."""

from __future__ import annotations

import os
import pty
from pathlib import Path

from tests.service.cli.commands import COMMAND, Masthead, plain_environment

from masthead.features.site.collection import site_settings
from masthead.identity.passwords import verify_password
from masthead.identity.tenants import superusers
from masthead.service.services import Services


def is_password_of(masthead: Masthead, email: str, password: str) -> bool:
    async def work(parts: Services) -> bool:
        (record,) = await parts.records.find(superusers, {"email": email})
        return await verify_password(record["password_hash"], password)

    return bool(masthead.inside(work))


def test_a_password_comes_from_standard_input(masthead: Masthead) -> None:
    tenant = "--slug acme --name Acme --plan pro --owner-email o@acme.example --owner-password -"
    created = masthead.piped("from a pipe\n", "tenant", "create", *tenant.split())
    assert created.code == 0, created.err
    assert is_password_of(masthead, "o@acme.example", "from a pipe")
    operator = ("operator", "create", "--email", "o@example.com", "--password", "-")
    assert masthead.piped("of the operator\n", *operator).code == 0
    assert is_password_of(masthead, "o@example.com", "of the operator")


def test_an_empty_standard_input_is_wrong_usage(masthead: Masthead) -> None:
    operator = ("operator", "create", "--email", "o@example.com", "--password", "-")
    outcome = masthead.piped("", *operator)
    assert (outcome.code, outcome.err) == (
        2,
        "masthead: Standard input has no value for --password.\n",
    )


def test_secret_settings_come_from_standard_input_line_by_line(masthead: Masthead) -> None:
    masthead.tenant("acme")
    changes = ("ai_api_key=-", "member_payment_webhook_secret=-", "site_name=-")
    changed = masthead.piped("first\nsecond\n", "settings", "set", "--tenant", "acme", *changes)
    assert changed.code == 0, changed.err

    async def revealed(parts: Services) -> list[str]:
        (record,) = await parts.records.find(site_settings, {"slug": "acme"})
        names = ("ai_api_key", "member_payment_webhook_secret")
        plain = [parts.records.reveal(site_settings, record, name) for name in names]
        return [*plain, record["site_name"]]

    assert masthead.inside(revealed) == ["first", "second", "-"]


def test_on_a_terminal_a_missing_password_is_prompted_for_twice(tmp_path: Path) -> None:
    arguments = ("operator", "create", "--email", "o@example.com", "--data-dir", str(tmp_path))
    answers = {"Password:": "long enough", "Repeat the password:": "long enough"}
    code, shown = at_a_terminal(arguments, answers)
    assert code == 0, shown
    assert "Operator o@example.com is ready" in shown
    assert "long enough" not in shown
    code, shown = at_a_terminal(arguments, answers | {"Repeat the password:": "other one"})
    assert code == 2
    assert "The two passwords differ" in shown


def at_a_terminal(arguments: tuple[str, ...], answers: dict[str, str]) -> tuple[int, str]:
    """The exit code, and all that the terminal showed."""
    process, terminal = pty.fork()
    if process == 0:
        os.execve(COMMAND, [str(COMMAND), *arguments], plain_environment())
    shown = ""
    waiting = list(answers.items())
    while chunk := _read(terminal):
        shown += chunk
        if waiting and waiting[0][0] in shown:
            os.write(terminal, f"{waiting.pop(0)[1]}\n".encode())
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 4096).decode()
    except OSError:
        # Linux raises it when the other side is closed.
        return ""
