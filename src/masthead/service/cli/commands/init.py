"""`masthead init`: folders, settings, a systemd unit and a proxy file for a new server."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from masthead.service.cli.invocation import Invocation, Output, command
from masthead.service.first_setup.owner import Owner, default_user, find_owner

if TYPE_CHECKING:
    from masthead.service.first_setup.plan import Plan, Proxy
    from masthead.service.first_setup.writing import WrittenFiles

PROXIES = ("caddy", "nginx")
_YES, _NO = ("y", "yes"), ("n", "no", "none")
_SYSTEM_UNIT = Path("/etc/systemd/system/masthead.service")
_CADDYFILE = Path("/etc/caddy/Caddyfile")
_PROXY_FILES = {"caddy": "Caddyfile", "nginx": "nginx.conf"}


@command("init")
@click.option("--user", metavar="U", help="The user that runs the service.")
@click.option("--domain", metavar="D", help="Sites are <slug>.D.")
@click.option("--dir", "folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--port", metavar="P", type=click.IntRange(1, 65535), default=8000, show_default=True)
@click.option(
    "--unit", metavar="FILE", type=click.Path(path_type=Path), help="Write a systemd unit."
)
@click.option(
    "--proxy",
    metavar="caddy|nginx FILE",
    type=(click.Choice(PROXIES), click.Path(path_type=Path)),
    default=None,
    help="Write the configuration of a proxy.",
)
@click.option("--yes", is_flag=True, help="Do not ask; take the defaults.")
def init(
    _: Invocation,
    *,
    user: str | None,
    domain: str | None,
    folder: Path | None,
    port: int,
    unit: Path | None,
    proxy: tuple[str, Path] | None,
    yes: bool,
) -> Output:
    """Writes folders, settings, a systemd unit and a proxy file, and overwrites nothing.

    On a terminal it asks for what is not given. If a file is there with other values than these,
    nothing is written.
    """
    from masthead.service.first_setup.plan import Plan, Proxy
    from masthead.service.first_setup.writing import write

    asks = sys.stdin.isatty() and not yes
    user = user or (_ask("User that runs the service", default_user()) if asks else default_user())
    owner = _owner(user)
    if domain is None:
        domain = _asked_domain() if asks else ""
    domain = _domain(domain)
    folder = folder or _default_folder(asks=asks)
    if unit is None and asks:
        unit = _asked_unit(folder)
    if proxy is None and asks and domain:
        proxy = _asked_proxy(folder)
    plan = Plan(
        owner=owner,
        folder=_plain(folder, "--dir"),
        program=_plain(_program(), "the folder that masthead is installed in"),
        port=port,
        domain=domain,
        unit=unit and unit.absolute(),
        proxy=proxy and (Proxy(proxy[0]), proxy[1].absolute()),
    )
    written = write(plan)
    steps = _next_steps(plan)
    return Output(_data(plan, written, steps), _text(written, steps))


def _owner(name: str) -> Owner:
    try:
        return find_owner(name)
    except ValueError as error:
        raise click.UsageError(f"--user {error}, not {name!r}") from None


def _domain(text: str) -> str:
    from masthead.base.config.values import parse_domain

    try:
        return parse_domain(text) if text else ""
    except ValueError as error:
        raise click.UsageError(f"--domain {error}, not {text!r}") from None


def _default_folder(*, asks: bool) -> Path:
    default = Path("/var/lib/masthead") if os.geteuid() == 0 else Path.home() / "masthead"
    return (asks and _ask_path("Folder of the service", default)) or default


def _asked_domain() -> str:
    answer = _ask("Domain of the service (empty: only this machine)", "")
    return "" if answer.lower() in _NO else answer


def _asked_unit(folder: Path) -> Path | None:
    is_root = os.geteuid() == 0
    default = _SYSTEM_UNIT if is_root else folder / _SYSTEM_UNIT.name
    return _ask_path("systemd unit (a file, yes or no)", default, shown="yes" if is_root else "no")


def _asked_proxy(folder: Path) -> tuple[str, Path] | None:
    answer = "?"
    while answer not in (*PROXIES, *_YES, *_NO):
        answer = _ask("Proxy (caddy, nginx or no)", "caddy").lower()
    if answer in _NO:
        return None
    kind = answer if answer in PROXIES else "caddy"
    path = _ask_path(f"File for {kind}", folder / _PROXY_FILES[kind])
    return (kind, path) if path else None


def _ask_path(question: str, default: Path, *, shown: str = "") -> Path | None:
    """A word such as `n` is an answer, not the name of a file."""
    answer = _ask(question, shown or str(default))
    if answer.lower() in _NO:
        return None
    return default if answer.lower() in _YES else Path(answer)


def _ask(question: str, default: str) -> str:
    # Standard output is for the result.
    answer: str = click.prompt(question, default=default, show_default=bool(default), err=True)
    return answer.strip()


def _plain(path: Path, name: str) -> Path:
    from masthead.service.first_setup.plan import is_plain

    path = Path(os.path.abspath(path))
    if not is_plain(path):
        raise click.UsageError(
            f"{name} must be a path of letters, digits and ._+@:- only, not {str(path)!r}"
        )
    return path


def _program() -> Path:
    """The `masthead` that runs; as `python -m masthead`, the one that was installed with it."""
    called = Path(sys.argv[0])
    if called.name == "masthead" and called.is_file():
        return called.absolute()
    return Path(sys.executable).with_name("masthead")


def _next_steps(plan: Plan) -> list[str]:
    """The first account comes before the service, which nobody could use without one."""
    steps = []
    if plan.owner.ids is None:
        steps.append(
            f"useradd --system --home-dir {plan.folder} --shell /usr/sbin/nologin {plan.owner.name}"
        )
    if not plan.owner.can_be_given_files:
        steps.append(f"chown -R {plan.owner.name}: {plan.folder}")
    account = f"set -a; . {plan.env}; {plan.program} operator create --email you@example.com"
    steps.append(f"({account})" if plan.owner.is_caller else _as_user(plan, account))
    if plan.unit:
        steps.append(f"systemctl daemon-reload && systemctl enable --now {plan.unit.stem}")
    else:
        steps.append(f"set -a; . {plan.env}; set +a; {plan.program} serve --port {plan.port}")
    if plan.proxy:
        steps.append(_proxy_step(*plan.proxy))
    return steps


def _as_user(plan: Plan, command: str) -> str:
    return f"sudo -u {plan.owner.name} sh -c '{command}'"


def _proxy_step(kind: Proxy, path: Path) -> str:
    if kind == "caddy":
        # Its user can't read the folder of the service.
        copied = "" if path == _CADDYFILE else f"cp {path} {_CADDYFILE} && "
        return f"{copied}systemctl reload caddy"
    return f"nginx -t && nginx -s reload  # once nginx includes {path} and has the certificate"


def _data(plan: Plan, written: WrittenFiles, steps: list[str]) -> dict[str, object]:
    return {
        "user": plan.owner.name,
        "domain": plan.domain or None,
        "dir": str(plan.folder),
        "data": str(plan.data),
        "env": str(plan.env),
        "unit": plan.unit and str(plan.unit),
        "proxy": plan.proxy and str(plan.proxy[1]),
        "created": [str(path) for path in written.created],
        "kept": [str(path) for path in written.kept],
        "next": steps,
    }


def _text(written: WrittenFiles, steps: list[str]) -> str:
    lines = [f"created {path}" for path in written.created]
    lines += [f"kept    {path} (it was there already)" for path in written.kept]
    if not written.created:
        lines.append("Nothing was changed: all of it was there already.")
    return "\n".join([*lines, "", "Next:", *(f"  {step}" for step in steps)])
