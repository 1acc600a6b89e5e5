"""The checks of `masthead doctor`: everything that an installation depends on.

Each check is a function that returns a state and a sentence. An error in one check is reported as
its result; the others still run.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiosmtplib
import msgspec
import sqlalchemy as sa

from masthead.base import clock, ids
from masthead.base.config import private_files, served_secret
from masthead.base.config.keyring import KeyRing
from masthead.base.config.settings import Settings, SettingsError
from masthead.base.config.values import AiFor
from masthead.base.errors import MastheadError, NotFound, Unavailable
from masthead.engine.events.outbox import events
from masthead.engine.records.rotation import Rotation
from masthead.engine.records.tables import tenant_states
from masthead.engine.records.versions import is_used
from masthead.faces.mcp import has_mcp
from masthead.features.ai.accounts import used_by
from masthead.features.ai.limits import PER_DAY
from masthead.features.payments.reconcile import Report, Reports
from masthead.outside.mail.dns_records import DnsChecks
from masthead.outside.mail.smtp import SmtpTransport
from masthead.outside.outbound.name_server import NameServer
from masthead.service.backup.stored_backups import StoredBackups
from masthead.service.cli.arguments import counted
from masthead.service.cli.causes import FREE_SPACE, database_cause, smtp_cause, storage_cause
from masthead.service.cli.invocation import Invocation
from masthead.service.schema import registry, tables
from masthead.storage.database import EVERY_TENANT, Database, Row
from masthead.storage.disk import has_no_space
from masthead.storage.migrate import HEAD, postgres_connection, revision_of
from masthead.storage.open import open_database
from masthead.storage.open_objects import open_object_store
from masthead.storage.postgres.row_security import ROLE

REQUIRES = {
    "stored secrets": ("root secret", "database"),
    "sending domain": ("root secret", "database"),
    "clock": ("database",),
    "payments": ("database",),
    "ai": ("database",),
}
"""Checks that must not have failed before a check can run."""
MIN_FREE_BYTES = 1024**3
SMTP_TIMEOUT_SECONDS = 5
CLOCK_TOLERANCE = timedelta(minutes=1)


class CheckState(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(msgspec.Struct, frozen=True):
    name: str
    state: CheckState
    detail: str


Result = tuple[CheckState, str]


def _ok(detail: str) -> Result:
    return CheckState.OK, detail


def _warn(detail: str) -> Result:
    return CheckState.WARN, detail


def _fail(detail: str) -> Result:
    return CheckState.FAIL, detail


class NothingYet(Exception):
    """There is no current schema to look into; the message is the detail of a good result."""


@asynccontextmanager
async def _database(settings: Settings, nothing: str) -> AsyncIterator[Database]:
    if await revision_of(settings.database_url) != HEAD:
        raise NothingYet(nothing)
    opened = await open_database(settings.database_url)
    try:
        yield opened
    finally:
        await opened.close()


async def _rows(opened: Database, query: sa.Select[Any], **values: str) -> list[Row]:
    statement = opened.compile(query)
    return await opened.fetch(EVERY_TENANT, *statement(values), slow=True)


async def run_checks(invocation: Invocation) -> list[Check]:
    try:
        settings: Settings = invocation.settings()
    except SettingsError as error:
        return [Check("settings", CheckState.FAIL, str(error))]
    checks = [Check("settings", CheckState.OK, "every variable is known and valid")]
    for name, check in CHECKS.items():
        if unmet := not_checked(name, checks, REQUIRES.get(name, ())):
            checks.append(unmet)
            continue
        try:
            state, detail = await check(settings)
        except NothingYet as reason:
            state, detail = _ok(str(reason))
        except (MastheadError, OSError) as error:
            state, detail = CheckState.FAIL, str(error)
        checks.append(Check(name, state, detail))
    return checks


def not_checked(name: str, done: list[Check], requires: Sequence[str]) -> Check | None:
    """Names the first required check that has failed; that check has reported the cause."""
    failed = {each.name for each in done if each.state is CheckState.FAIL}
    for each in requires:
        if each in failed:
            return Check(name, CheckState.WARN, f"not checked: fix the {each} first")
    return None


async def data_dir(settings: Settings) -> Result:
    return await asyncio.to_thread(_data_dir, settings.data_dir)


def _data_dir(folder: Path) -> Result:
    if not folder.is_dir():
        return _warn(f"{folder} does not exist yet; the first start creates it")
    if not os.access(folder, os.W_OK | os.X_OK):
        return _fail(f"{folder} is not writable; give the service's user write access")
    if has_no_space(folder):
        return _fail(f"the disk of {folder} is full; {FREE_SPACE}")
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        return _warn(f"only {free // 1024**2} MiB are free on the disk of {folder}")
    return _ok(f"{folder} is writable, {free // 1024**3} GiB free")


async def secret_key(settings: Settings) -> Result:
    if not settings.lacks_root_secret and served_secret.is_other(settings, _keyring(settings)):
        return _fail(
            "the service was last started with another root secret than this shell has; run the "
            "commands with the service's environment, or restart the service with this one"
        )
    if settings.secret_key is not None:
        return _ok(f"{len(settings.secret_key)} from MASTHEAD_SECRET_KEY")
    if settings.lacks_root_secret:
        return await _missing_secret(settings)
    return await asyncio.to_thread(_secret_file, settings.data_dir / "secret.key")


async def _missing_secret(settings: Settings) -> Result:
    try:
        async with _database(settings, "") as opened:
            is_new = not await is_used(opened)
    except (Unavailable, NothingYet):
        is_new = True
    if is_new:
        return _warn("not created yet; the first start writes secret.key")
    return _fail(
        "secret.key is missing although the database is in use, so the service does not start; "
        "restore the file from a backup, or set MASTHEAD_SECRET_KEY to its content"
    )


async def files(settings: Settings) -> Result:
    """All but the root secret, which has its own check."""
    found = await asyncio.to_thread(private_files.exposed, settings)
    names = [str(path) for path in found if path.name != "secret.key"]
    if names:
        return _fail(f"others may read {', '.join(names)}; run chmod go= on each")
    return _ok("database, media and emails are readable by their owner only")


def _secret_file(path: Path) -> Result:
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        return _fail(f"others can read secret.key ({mode:04o}); run chmod 600 {path}")
    return _ok("secret.key is readable by its owner only")


async def database(settings: Settings) -> Result:
    try:
        revision = await revision_of(settings.database_url)
    except Unavailable as error:
        return _fail(database_cause(settings, error))
    if revision is None:
        return _warn("no schema yet; `masthead migrate` or the first start creates it")
    if revision != HEAD:
        return _fail(f"revision {revision} instead of {HEAD}; run `masthead migrate`")
    path = settings.sqlite_path
    if path is not None:
        return await asyncio.to_thread(_sqlite, path)
    return await _postgres(settings.database_url)


def _sqlite(path: Path) -> Result:
    try:
        with closing(sqlite3.connect(path)) as connection:
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return _fail(f"{path} is damaged ({error}); restore a backup")
    if problem != "ok":
        return _fail(f"{path} is damaged ({problem}); restore a backup")
    if mode != "wal":
        return _fail(f"{path} is in {mode} mode; run PRAGMA journal_mode = WAL on it")
    return _ok(f"SQLite {sqlite3.sqlite_version}, revision {HEAD}, write-ahead log on")


async def _postgres(url: str) -> Result:
    import asyncpg

    from masthead.storage.postgres.connections import BYPASSES_POLICIES

    connection = await postgres_connection(url)
    try:
        # The first word: a distribution adds its own.
        version = (await connection.fetchval("SHOW server_version")).split()[0]
        async with connection.transaction():
            bypasses = await connection.fetchval(BYPASSES_POLICIES)
            if bypasses:
                await connection.execute(f"SET LOCAL ROLE {ROLE}")
            visible = await connection.fetchval("SELECT count(*) FROM tenants")
    except asyncpg.PostgresError as error:
        return _fail(f"row-level security is not set up ({error}); run `masthead migrate`")
    finally:
        await connection.close()
    if visible:
        return _fail("row-level security does not filter rows; run `masthead migrate`")
    detail = f"PostgreSQL {version}, revision {HEAD}, row-level security holds"
    if bypasses:
        return _warn(f"{detail} through a second role; connect as a role that is no superuser")
    return _ok(detail)


async def storage(settings: Settings) -> Result:
    if urlsplit(settings.storage_url).scheme == "file" and not settings.data_dir.exists():
        return _ok("nothing is stored yet")
    key = f"doctor/{ids.new_id()}"
    sent = b"masthead doctor"
    try:
        store = open_object_store(settings.storage_url)
        # Before the write, because some servers create a missing bucket.
        await store.ping()
        await store.put(key, sent)
        received = b"".join([bytes(part) async for part in (await store.get(key)).chunks])
        await store.delete(key)
    except (Unavailable, NotFound) as error:
        return _fail(storage_cause(settings, error))
    if received != sent:
        return _fail("an object was read with other content; check MASTHEAD_STORAGE_URL")
    return _ok("an object was written, read and deleted")


async def mail(settings: Settings) -> Result:
    if settings.smtp_url is None:
        return _warn("MASTHEAD_SMTP_URL is not set: emails are written to files, not sent")
    server = settings.smtp_url
    transport = SmtpTransport(
        server,
        settings.outbound_ca_file,
        settings.base_domain,
        timeout_seconds=SMTP_TIMEOUT_SECONDS,
    )
    try:
        await transport.check()
    except (OSError, aiosmtplib.SMTPException) as error:
        return _fail(smtp_cause(server, error))
    return _ok(f"{server.host}:{server.port} answers")


async def sending_domain(settings: Settings) -> Result:
    """The records by which receivers know our emails."""
    domain = settings.mail_from.domain
    nothing = "no email is sent yet"
    if settings.smtp_url is None:
        return _ok(nothing)
    async with _database(settings, nothing) as opened:
        rows = await _rows(opened, _platform_domain(), domain=domain)
    if not rows:
        return _warn(
            f"emails from {settings.mail_from.addr_spec} are not signed; an operator makes the key "
            "in the admin under Sending domain"
        )
    names = ("domain", "selector", "public_key")
    checks = DnsChecks(NameServer(settings.dns_server), settings)
    found = await checks.look(dict(zip(names, rows[0], strict=True)), is_installation=True)
    wrong = [f"{each.wanted.kind}: {each.sentence}" for each in found if not each.is_right]
    if wrong:
        return _warn(" ".join(wrong))
    return _ok(f"SPF, DKIM and DMARC of {domain} are right")


def _platform_domain() -> sa.Select[Any]:
    t = tables["sending_domains"].c
    own = (t.tenant_id == "", t.domain == sa.bindparam("domain"))
    return sa.select(t.domain, t.selector, t.public_key).where(*own)


def _keyring(settings: Settings) -> KeyRing:
    return KeyRing([str(secret) for secret in settings.load_root_secrets()])


async def stored_secrets(settings: Settings) -> Result:
    """API keys of AI providers, webhook and payment secrets, which the root secret encrypts."""
    nothing = "nothing is stored yet"
    if settings.lacks_root_secret:
        return _ok(nothing)
    async with _database(settings, nothing) as opened:
        count = await Rotation(opened, registry, tables, _keyring(settings)).unreadable()
    if count:
        return _fail(
            f"{count} can't be read with the current root secret; restore the secret.key or "
            "MASTHEAD_SECRET_KEY that encrypted them, or set them again"
        )
    return _ok("all can be read with the current root secret")


async def backups(settings: Settings) -> Result:
    """The last good one of those that the worker makes by itself."""
    place = settings.backup_to
    if place is None:
        return _warn(
            "Masthead makes none by itself; set MASTHEAD_BACKUP_TO, or run `masthead backup` "
            "regularly"
        )
    try:
        newest = await StoredBackups(place).newest()
    except (Unavailable, NotFound):
        return _fail(f"{place} does not answer or can't be read; check MASTHEAD_BACKUP_TO")
    if newest is None:
        return _warn(f"there is none in {place} yet; check that a worker runs")
    made = f"the last good one is of {clock.to_text(newest)}, in {place}"
    if clock.now() - newest > 2 * settings.backup_every:
        return _fail(f"{made}; search the worker's log for backup.failed")
    return _ok(made)


async def clock_sanity(settings: Settings) -> Result:
    """With a clock that is behind, signatures, expiry times and sort orders are wrong."""
    async with _database(settings, "nothing to compare with yet") as opened:
        ((latest,),) = await _rows(opened, _newest_event())
    if latest and clock.from_text(latest) > clock.now() + CLOCK_TOLERANCE:
        return _fail(f"the newest change is at {latest}, in the future; correct the clock")
    return _ok(f"{clock.to_text(clock.now())}, not before the newest change")


def _newest_event() -> sa.Select[Any]:
    """Per tenant, because no index spans all tenants."""
    last = (
        sa.select(events.c.created)
        .where(events.c.tenant_id == tenant_states.c.tenant_id)
        .order_by(events.c.version.desc(), events.c.ordinal.desc())
        .limit(sa.literal_column("1"))
        .scalar_subquery()
    )
    return sa.select(sa.func.max(last)).select_from(tenant_states)


async def base_url(settings: Settings) -> Result:
    parts = urlsplit(settings.base_url)
    host = parts.hostname or ""
    is_local = host == "localhost" or host.startswith("127.")
    if settings.base_domain == "localhost" and not is_local:
        return _warn("MASTHEAD_BASE_DOMAIN is not set: tenants have no public subdomain")
    if parts.scheme == "http" and not is_local:
        return _warn(f"{settings.base_url} is not https: cookies and keys are sent unencrypted")
    if is_local:
        return _ok(f"{settings.base_url}, this machine only")
    return _ok(f"{settings.base_url}, tenants under {settings.base_domain}")


async def payments(settings: Settings) -> Result:
    """The reports of the worker's nightly reconciliation."""
    t = tables["tenants"].c
    async with _database(settings, "nothing to reconcile yet") as opened:
        rows = await _rows(opened, sa.select(t.id, t.slug))
        reports = await Reports(opened).all()
    slugs = {str(row[0]): str(row[1]) for row in rows}
    found = [(slugs[tenant], report) for tenant, _, report in reports if tenant in slugs]
    if not found:
        return _ok("nothing to reconcile yet; the worker checks once a day")
    unclean = [f"{slug}: {_differences(report)}" for slug, report in found if not report.is_clean]
    if unclean:
        return _warn("; ".join(unclean))
    return _ok(f"{max(at for _, at, _ in reports)}: no differences")


async def ai(settings: Settings) -> Result:
    """Who can spend which AI key."""
    async with _database(settings, "no site has AI yet") as opened:
        rows = await _rows(opened, _ai_uses())
    counts: Counter[tuple[bool, AiFor]] = Counter()
    for has_key, ai_for, number in rows:
        counts[bool(has_key), used_by(ai_for, bool(has_key), settings)] += number
    own = _spenders(counts, "the site's own key", has_key=True)
    if not settings.ai_key:
        return _ok(own or "no key is set")
    platform = _spenders(counts, "the platform's key", has_key=False) or "no site uses it"
    detail = "; ".join(filter(None, (platform, own)))
    if counts[False, AiFor.ANYONE]:
        return _warn(
            f"{detail}; each site has {PER_DAY:,} calls a day. MASTHEAD_AI_FOR=staff limits it to "
            "staff"
        )
    return _ok(detail)


def _ai_uses() -> sa.Select[Any]:
    site = tables["site_settings"].c
    # No parameter: PostgreSQL would take it for another expression in each of its two places.
    has_key = (site.ai_api_key != sa.literal_column("''")).label("has_key")
    return sa.select(has_key, site.ai_for, sa.func.count()).group_by(has_key, site.ai_for)


def _spenders(counts: Counter[tuple[bool, AiFor]], key: str, *, has_key: bool) -> str:
    found = [
        f"{each} on {counted(counts[has_key, each], 'site')}"
        for each in AiFor
        if counts[has_key, each]
    ]
    return f"who can spend {key}: {', '.join(found)}" if found else ""


def _differences(report: Report) -> str:
    """The count of each kind, with its first example."""
    return ", ".join(
        f"{kind.count} {name} ({kind.first[0].id} {kind.first[0].why})"
        for name, kind in report.kinds().items()
        if kind.count
    )


async def assistants(_settings: Settings) -> Result:
    if has_mcp():
        return CheckState.OK, "AI assistants with an API key reach every site at /mcp"
    return (
        CheckState.OK,
        "/mcp is off: install masthead[mcp] if AI assistants shall reach the sites",
    )


CHECKS: dict[str, Callable[[Settings], Awaitable[Result]]] = {
    "data directory": data_dir,
    "root secret": secret_key,
    "files": files,
    "database": database,
    "stored secrets": stored_secrets,
    "storage": storage,
    "mail": mail,
    "sending domain": sending_domain,
    "clock": clock_sanity,
    "base url": base_url,
    "payments": payments,
    "ai": ai,
    "assistants": assistants,
    "backups": backups,
}
