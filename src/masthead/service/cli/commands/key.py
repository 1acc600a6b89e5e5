"""`masthead key`: creates, lists and revokes API keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from masthead.base import clock
from masthead.base.suggestions import suggestion
from masthead.engine.records.collection import Record
from masthead.identity.api_keys import api_keys, create_key, revoke_key
from masthead.identity.limits.plans import Plan
from masthead.identity.scopes import ALIASES, SCOPES, is_scope
from masthead.service.cli.arguments import parse_time, tenant_option, warn
from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import opened, opened_site

app = new_group("Creates, lists and revokes API keys.")

MAX_KEYS = 10_000
KEYS_STOP = "There, API keys get a 403 (PLAN_UPGRADE_REQUIRED), until the site has a paid plan."


class Scope(click.ParamType[str]):
    name = "scope"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not is_scope(value):
            names = [*SCOPES, *ALIASES]
            self.fail(f"{value!r} is not a scope; {suggestion(value, names)}", param, ctx)
        return value

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return f"Choose from {', '.join(sorted([*SCOPES, *ALIASES]))}"


def parse_expiry(value: str) -> str:
    parsed = parse_time(value, "--expires")
    if parsed and parsed <= clock.to_text(clock.now()):
        raise click.BadParameter(
            f"{value!r} has passed; give a time in the future", param_hint="--expires"
        )
    return parsed


@command("create", app)
@tenant_option
@click.option("--name", metavar="N", required=True)
@click.option(
    "--scope",
    metavar="S",
    type=Scope(),
    multiple=True,
    required=True,
    help="Can be given several times.",
)
@click.option("--expires", metavar="ISO", default="", help="When the key expires.")
async def create(
    invocation: Invocation, tenant: str, name: str, scope: Sequence[str], *, expires: str
) -> Output:
    """Creates an API key and prints it once."""
    expires_at = parse_expiry(expires)
    async with opened_site(invocation, tenant) as site:
        record, key = await create_key(
            site.parts.records, site.id, name, scope, expires_at=expires_at
        )
    if not Plan(site.tenant["plan"]).has_api:
        warn(f"{tenant} is on {site.tenant['plan']}. {KEYS_STOP}")
    return Output(
        {"id": record["id"], "key": key},
        f"{key}\nThis key is not shown again. Its id is {record['id']}.",
    )


@command("list", app)
@tenant_option
async def list_keys(invocation: Invocation, tenant: str) -> Output:
    """Lists a tenant's keys, without their secret part."""
    async with opened_site(invocation, tenant) as site:
        keys = await site.parts.records.find(api_keys, {}, tenant_id=site.id, limit=MAX_KEYS)
    shown = [_shown(each) for each in sorted(keys, key=lambda each: each["created"])]
    columns = ("id", "prefix", "name", "scopes", "expires_at", "revoked_at", "last_used_at")
    return Output(shown, f"{tenant} has no API keys yet.", columns)


@command("revoke", app)
@click.argument("key_id", metavar="ID")
async def revoke(invocation: Invocation, key_id: str) -> Output:
    """Revokes a key; it stops working at once."""
    async with opened(invocation) as parts:
        record = await revoke_key(parts.records, key_id)
    return Output(_shown(record), f"The key {record['name']} ({record['prefix']}…) is revoked.")


def _shown(key: Record) -> dict[str, Any]:
    dates = ("expires_at", "revoked_at", "last_used_at")
    return {
        **{name: key[name] for name in ("id", "name", "prefix", "scopes")},
        **{name: key[name] or None for name in dates},
        "created": key["created"],
    }
