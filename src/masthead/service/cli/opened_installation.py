"""Opens the installation for a command, after checking that its schema is current."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from masthead.base import logs
from masthead.base.config.settings import Settings, SettingsError
from masthead.base.config.values import LogFormat
from masthead.base.errors import MastheadError, NewerDatabase, Unavailable
from masthead.base.ids import TenantId
from masthead.engine.records.collection import Record
from masthead.identity.tenant_lookup import find_tenant_named
from masthead.service.cli.invocation import Invocation
from masthead.service.installation import Installation, open_installation
from masthead.storage.migrate import HEAD, migrate, revision_of


class OutdatedDatabase(MastheadError):
    message = "The database has an older schema. Run `masthead migrate` first."


class NoInstallation(MastheadError):
    """The message names the folder."""


class UnreachableDatabase(MastheadError):
    def __init__(self, settings: Settings, error: Unavailable) -> None:
        from masthead.service.cli.causes import database_cause

        super().__init__(f"The database can't be used: {database_cause(settings, error)}.")


@asynccontextmanager
async def opened(invocation: Invocation, *, creates: bool = False) -> AsyncIterator[Installation]:
    """Checks as `prepare_settings` does."""
    installation = await open_installation(await prepare_settings(invocation, creates=creates))
    try:
        yield installation
    finally:
        await installation.close()


class OpenedSite(NamedTuple):
    parts: Installation
    tenant: Record
    id: TenantId


@asynccontextmanager
async def opened_site(invocation: Invocation, named: str) -> AsyncIterator[OpenedSite]:
    """The installation, and the tenant that `--tenant` names."""
    async with opened(invocation) as parts:
        tenant = await find_tenant_named(parts.records, named)
        yield OpenedSite(parts, tenant, TenantId(tenant["id"]))


async def prepare_settings(invocation: Invocation, *, creates: bool = False) -> Settings:
    """Creates the schema in an empty database; refuses a database with an older schema.

    A command that `creates` may be the first on an installation. Any other needs an existing data
    directory: with a wrong one it would create a new database and a new root secret.
    """
    settings: Settings = invocation.settings()
    quiet_logs()
    if not creates:
        _require_data_dir(settings)
    await require_schema(settings)
    return settings


def _require_data_dir(settings: Settings) -> None:
    needs_none = settings.sqlite_path is None and settings.secret_key is not None
    if not needs_none and not settings.data_dir.exists():
        raise NoInstallation(
            f"There is no data directory {settings.data_dir}. Name the one of your installation "
            "with MASTHEAD_DATA_DIR or --data-dir"
        )


def quiet_logs() -> None:
    """For commands that end: what they have to say, they say in sentences. A log line is text among
    these, and only of an error."""
    logs.configure(LogFormat.CONSOLE, level=logging.ERROR)


def configure_logs(settings: Settings) -> None:
    """For the service and the worker."""
    logs.configure(settings.log)
    # It logs every step of a migration at INFO.
    logging.getLogger("alembic").setLevel(logging.WARNING)


async def require_schema(settings: Settings) -> None:
    make_data_dir(settings)
    try:
        revision = await revision_of(settings.database_url)
        if revision is None:
            await migrate(settings.database_url)
    except Unavailable as error:
        raise UnreachableDatabase(settings, error) from error
    if revision is not None and revision != HEAD:
        # Revisions have leading zeros, so they compare as text.
        raise NewerDatabase() if revision > HEAD else OutdatedDatabase()


async def migrate_schema(settings: Settings) -> str:
    """Upgrades the schema, whatever its revision; returns the new revision."""
    make_data_dir(settings)
    try:
        return await migrate(settings.database_url)
    except Unavailable as error:
        raise UnreachableDatabase(settings, error) from error


def make_data_dir(settings: Settings) -> None:
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"MASTHEAD_DATA_DIR must be a writable folder ({error.strerror})."
        ) from error
