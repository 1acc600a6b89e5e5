"""The credentials of the demo tenant: stored in `demo.json` and printed at each start."""

from __future__ import annotations

import os
import secrets
from datetime import timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from masthead.base.config.settings import Settings
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.engine import Records
from masthead.features.site.address import site_url
from masthead.identity.api_keys import api_keys, create_key, hash_key
from masthead.identity.scopes import SCOPES
from masthead.identity.tenants import tenants
from masthead.service.demo.seed import (
    FOUNDED_DAYS_AGO,
    OWNER,
    SLUG,
    StoryClock,
    create_demo_tenant,
    fill_demo_tenant,
)
from masthead.service.schema import registry, tables
from masthead.service.services import Services

FILE = "demo.json"


class Credentials(msgspec.Struct, frozen=True):
    email: str
    password: str
    api_key: str


class DemoAccess(msgspec.Struct, frozen=True):
    site: str
    credentials: Credentials

    def lines(self) -> tuple[str, str, str]:
        own = self.credentials
        return (
            f"blog: {self.site}",
            f"admin: {self.site}/admin login: {own.email} password: {own.password}",
            f"api key: {own.api_key}",
        )


async def demo_access(parts: Services) -> DemoAccess | None:
    """Seeds an empty database. None where there is no demo tenant, or no `demo.json` for it."""
    path = parts.settings.data_dir / FILE
    found = await parts.records.find_one(tenants, {"slug": SLUG})
    if found:
        credentials = await _read_stored(parts, TenantId(found["id"]), path)
    elif await parts.records.find(tenants, {}):
        log.warning("demo.not_seeded", reason="the database has tenants already")
        return None
    else:
        credentials = await _seed(parts, path)
    return DemoAccess(site_of(parts.settings, SLUG), credentials) if credentials else None


def site_of(settings: Settings, slug: str) -> str:
    base = urlsplit(settings.base_url)
    port = f":{base.port}" if base.port else ""
    return f"{base.scheme}://{slug}.{settings.base_domain}{port}"


async def _seed(parts: Services, path: Path) -> Credentials:
    now = parts.records.clock()
    story = StoryClock(now - timedelta(days=FOUNDED_DAYS_AGO))
    records = Records(
        parts.database,
        registry,
        tables,
        parts.keyring,
        now=story,
        origin_of=partial(site_url, parts.settings),
    )
    password = secrets.token_urlsafe(9)
    tenant_id = await create_demo_tenant(records, password)
    _, key = await create_key(records, tenant_id, "Demo", list(SCOPES))
    credentials = Credentials(OWNER, password, key)
    _write(path, credentials)
    at_story = msgspec.structs.replace(parts, records=records)
    await fill_demo_tenant(at_story, story, tenant_id, now)
    return credentials


async def _read_stored(parts: Services, tenant_id: TenantId, path: Path) -> Credentials | None:
    credentials = _read(path)
    if credentials is None:
        # It may be a real tenant with this slug, so nothing is reset.
        log.warning("demo.unknown", reason=f"{FILE} is not in the data directory")
        return None
    if await _is_valid(parts, credentials.api_key):
        return credentials
    _, key = await create_key(parts.records, tenant_id, "Demo", list(SCOPES))
    credentials = msgspec.structs.replace(credentials, api_key=key)
    _write(path, credentials)
    return credentials


async def _is_valid(parts: Services, key: str) -> bool:
    found = await parts.records.find_one(api_keys, {"key_hash": hash_key(key)})
    return found is not None and not found["revoked_at"]


def _read(path: Path) -> Credentials | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Credentials)
    except (OSError, msgspec.DecodeError):
        return None


def _write(path: Path, credentials: Credentials) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(credentials)) + b"\n")
