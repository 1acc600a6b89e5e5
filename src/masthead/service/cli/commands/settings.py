"""`masthead settings`: a tenant's site settings by their record-store names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from masthead.base.caller import system
from masthead.base.config.served_secret import refuse_other
from masthead.base.suggestions import suggestion
from masthead.engine.records.collection import Record
from masthead.engine.records.fields.secrets import Secret
from masthead.features.site.collection import site_settings
from masthead.service.cli.arguments import tenant_option
from masthead.service.cli.invocation import Invocation, Output, command, new_group
from masthead.service.cli.opened_installation import OpenedSite, opened_site
from masthead.service.cli.secret_values import prompt_secret, read_secret

app = new_group("Reads and changes a tenant's site settings.")

SETTABLE = {each.name: each for each in site_settings.fields if not each.immutable}


@command("set", app)
@tenant_option
@click.argument("changes", metavar="KEY=VALUE", nargs=-1, required=True)
async def set_settings(invocation: Invocation, tenant: str, changes: Sequence[str]) -> Output:
    """Changes site settings. An empty value clears one.

    For a secret, `-` reads the value from standard input, and no value prompts for it.
    """
    given = parse_changes(changes)
    async with opened_site(invocation, tenant) as site:
        parts = site.parts
        if any(isinstance(SETTABLE[name], Secret) and value for name, value in given.items()):
            refuse_other(parts.settings, parts.keyring)
        current = await _settings_of(site)
        # From the registry, because its validators include the operator's rules.
        collection = parts.records.registry[site_settings.name]
        changed = await parts.records.update(system(site.id), collection, current["id"], given)
    return Output(_shown(changed), f"Set {', '.join(given)}.")


@command("get", app)
@tenant_option
async def get_settings(invocation: Invocation, tenant: str) -> Output:
    """Prints the site settings. For a secret it prints only whether it is set."""
    async with opened_site(invocation, tenant) as site:
        current = _shown(await _settings_of(site))
    text = "\n".join(f"{name}={_plain(value)}" for name, value in current.items())
    return Output(current, text)


def parse_changes(changes: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if name not in SETTABLE:
            raise click.BadParameter(
                f"{name!r} is not a site setting; {suggestion(name, SETTABLE)}"
            )
        field = SETTABLE[name]
        if isinstance(field, Secret):
            value = read_secret(value, name) if equals else prompt_secret(name)
        elif not equals:
            raise click.BadParameter("write each setting as KEY=VALUE")
        given[name] = field.coerce(value)
    return given


async def _settings_of(site: OpenedSite) -> Record:
    missing = f"The settings record of the tenant {site.tenant['slug']} was deleted."
    return await site.parts.records.require(site_settings, {}, tenant_id=site.id, missing=missing)


def _shown(settings: Record) -> dict[str, Any]:
    shown = {each.name: settings[each.name] for each in site_settings.fields}
    secrets = [each.name for each in site_settings.fields if isinstance(each, Secret)]
    return shown | {name: "set" if shown[name] else "" for name in secrets}


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        # As `set` takes it.
        return msgspec.json.encode(value).decode()
    return "" if value is None else str(value)
