"""Links in emails that sign a reader in: to a new account, or to the one that the address has.

A request is the same for known and unknown addresses: it only queues a job, and the worker looks
the address up. A link works once; only its hash is stored.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from masthead import clock
from masthead.caller import system
from masthead.errors import BadRequest, Forbidden
from masthead.identity.accounts import Accounts, SignedIn, account_key
from masthead.identity.sign_ins import Client
from masthead.identity.suspension import is_suspended
from masthead.ids import TenantId
from masthead.jobs.runner import Handler, Job
from masthead.limits.sign_in_throttle import Attempt, LoginThrottle
from masthead.mail import account_emails
from masthead.mail.message import Mail
from masthead.mail.outbox import Outbox
from masthead.members.collection import MAX_OFF, SIGN_UP_FORM, blog_members, consent
from masthead.members.newsletters import newsletters
from masthead.members.tables import member_links
from masthead.records.accounts import new_token_key
from masthead.records.collection import Record
from masthead.records.engine import Records
from masthead.records.write.unit import Unit
from masthead.site.address import Sites
from masthead.site.record_view import as_settings
from masthead.storage.database import EVERY_TENANT, Row, scope_of

PATH = "/member/link"
JOB = "members.link"
DEAD_LINK = "This link has been used or has expired. Request a new one."
CLOSED = "You can’t join this site at the moment."


class Purpose(StrEnum):
    SIGN_UP = "sign_up"
    SIGN_IN = "sign_in"


LIFETIMES = {Purpose.SIGN_UP: timedelta(hours=24), Purpose.SIGN_IN: timedelta(minutes=15)}


@dataclass(frozen=True, slots=True)
class Link:
    purpose: Purpose
    email: str
    member_id: str
    account_mark: str
    newsletter: bool
    back: str
    newsletters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reader asks for by a form."""

    purpose: Purpose
    email: str
    newsletter: bool = False
    back: str = ""
    newsletters: tuple[str, ...] = ()
    """The slugs of those that were chosen; none where the form does not ask for them."""


class MailedLinks:
    def __init__(
        self,
        records: Records,
        accounts: Accounts,
        throttle: LoginThrottle,
        outbox: Outbox,
        *,
        sites: Sites,
    ) -> None:
        self._records = records
        self._accounts = accounts
        self._throttle = throttle
        self._outbox = outbox
        self._sites = sites
        database = records.database
        t = member_links.c
        in_tenant = t.tenant_id == sa.bindparam("tenant")
        self._find = database.compile(
            sa.select(
                t.purpose,
                t.email,
                t.member_id,
                t.account_mark,
                t.newsletter,
                t.back,
                t.newsletters,
            ).where(
                in_tenant,
                t.token_hash == sa.bindparam("hash"),
                t.expires > sa.bindparam("now"),
            )
        )
        self._insert = database.compile(sa.insert(member_links))
        self._spend = database.compile(
            sa.delete(member_links).where(in_tenant, t.email == sa.bindparam("address"))
        )
        self._sweep = database.compile(
            sa.delete(member_links).where(t.expires <= sa.bindparam("now"))
        )

    async def request(self, tenant_id: TenantId, wanted: Wanted, client_address: str) -> None:
        """Raises RateLimited for too many requests of a network or at a site; says nothing of the
        address."""
        attempt = Attempt(blog_members.name, wanted.email, client_address)
        if not await self._throttle.admit_link(attempt, tenant_id):
            return
        payload = {
            "tenant_id": tenant_id,
            "purpose": wanted.purpose.value,
            "email": wanted.email,
            "newsletter": wanted.newsletter,
            "back": wanted.back,
            "newsletters": list(wanted.newsletters),
        }
        # The platform's job: the site has not changed, so its caches stay.
        async with self._records.unit(system()) as unit:
            await unit.enqueue(JOB, payload)

    def handlers(self) -> Mapping[str, Handler]:
        return {JOB: self._mail}

    async def find(self, tenant_id: TenantId, token: str) -> Link:
        """The link, which stays as it is; raises BadRequest for one that no longer works."""
        bound = self._find.bind(self._key(tenant_id, token))
        rows = await self._records.database.fetch(scope_of(tenant_id), self._find, bound)
        return _link(rows)

    async def use(self, tenant_id: TenantId, token: str, client: Client) -> tuple[SignedIn, Link]:
        """Signs in, and ends every link of the address."""
        site = await self._sites.of(tenant_id)
        async with self._records.unit(system(tenant_id)) as unit:
            # In the transaction, so that of two clicks one finds it used.
            link = _link(await unit.fetch(self._find, self._key(tenant_id, token)))
            await unit.execute(self._spend, {"tenant": tenant_id, "address": link.email})
            if link.purpose is Purpose.SIGN_UP:
                member = await _sign_up(unit, link, f"{site.url}{link.back}")
            else:
                member = await _account(unit, link)
        attempt = Attempt(blog_members.name, link.email, client.address, account_key(member))
        await self._throttle.forgive(attempt)
        return await self._accounts.begin(blog_members, member, client), link

    async def sweep(self) -> None:
        now = clock.to_text(self._records.clock())
        async with self._records.database.transaction(EVERY_TENANT) as tx:
            await tx.execute(self._sweep, self._sweep.bind({"now": now}), slow=True)

    async def _mail(self, job: Job) -> None:
        tenant_id = TenantId(job.payload["tenant_id"])
        purpose = Purpose(job.payload["purpose"])
        site = await self._sites.of(tenant_id)
        async with self._records.unit(system(tenant_id)) as unit:
            found = await unit.find(blog_members, {"email": job.payload["email"]}, limit=1)
            names = {"site_name": site.name, "site_url": site.url, "to": job.payload["email"]}
            if found:
                link = await self._store(unit, job.payload, Purpose.SIGN_IN, found[0])
                make = _KNOWN[purpose]
            elif purpose is Purpose.SIGN_UP and _is_open(unit):
                link = await self._store(unit, job.payload, Purpose.SIGN_UP)
                make = account_emails.confirm_sign_up
            else:
                return
            mail: Mail = make(**names, link=f"{site.url}{PATH}?token={link}")
            await self._outbox.queue(unit, mail)

    async def _store(
        self,
        unit: Unit,
        wanted: Mapping[str, Any],
        purpose: Purpose,
        member: Record | None = None,
    ) -> str:
        token = secrets.token_urlsafe(32)
        values = {
            "tenant_id": unit.tenant_id,
            "token_hash": _hash(token),
            "purpose": purpose.value,
            "email": wanted["email"],
            "member_id": member["id"] if member else None,
            "account_mark": _hash(member["token_key"]) if member else "",
            "newsletter": bool(wanted["newsletter"]),
            "back": wanted["back"],
            # A job of the release before has none.
            "newsletters": ",".join(wanted.get("newsletters", ())),
            "expires": clock.to_text(self._records.clock() + LIFETIMES[purpose]),
        }
        await unit.execute(self._insert, values)
        return token

    def _key(self, tenant_id: TenantId, token: str) -> dict[str, str]:
        now = clock.to_text(self._records.clock())
        return {"tenant": tenant_id, "hash": _hash(token), "now": now}


_KNOWN = {
    Purpose.SIGN_UP: account_emails.already_member,
    Purpose.SIGN_IN: account_emails.sign_in,
}


def _is_open(unit: Unit) -> bool:
    """The site takes new members."""
    return as_settings(unit.tenant.site.settings)["members_enabled"]


async def _sign_up(unit: Unit, link: Link, page: str) -> Record:
    """The new member; or the one that the address has by now, such as by a payment. `page` is where
    the form was."""
    if unit.tenant.site.read_only or not _is_open(unit) or await is_suspended(unit):
        raise Forbidden(CLOSED)
    found = await unit.find(blog_members, {"email": link.email}, limit=1)
    if not found:
        given = {"email": link.email, "newsletter": link.newsletter}
        given["newsletters_off"] = await _not_chosen(unit, link.newsletters)
        stamped = {"verified": True, "token_key": new_token_key()}
        if link.newsletter:
            stamped |= consent(SIGN_UP_FORM, unit.now, page)
        return await unit.create(blog_members, given, stamped=stamped)
    wants: dict[str, Any] = {"newsletter": True} if link.newsletter else {}
    if wants and link.newsletters:
        off = await _not_chosen(unit, link.newsletters)
        if found[0]["newsletter"]:
            # What they got before they still get.
            off = [each for each in found[0]["newsletters_off"] if each in off]
        wants["newsletters_off"] = off
    agreed = consent(SIGN_UP_FORM, unit.now, page) if wants else {}
    return await _confirm(unit, found[0], wants, agreed)


async def _not_chosen(unit: Unit, chosen: tuple[str, ...]) -> list[str]:
    """The newsletters that a new member does not get: all others, or where the reader was not asked
    those that are not for new members."""
    others = await unit.find(newsletters, {} if chosen else {"is_default": False}, limit=MAX_OFF)
    return [each["slug"] for each in others if each["slug"] not in chosen]


async def _account(unit: Unit, link: Link) -> Record:
    found = await unit.find(blog_members, {"id": link.member_id}, limit=1)
    if not found or _hash(found[0]["token_key"]) != link.account_mark:
        raise BadRequest(DEAD_LINK)
    return await _confirm(unit, found[0], {})


async def _confirm(
    unit: Unit,
    member: Record,
    changes: Mapping[str, Any],
    agreed: Mapping[str, str] = MappingProxyType({}),
) -> Record:
    """The link came by email, so the address is verified. An imported account has no key yet."""
    stamped: dict[str, Any] = dict(agreed)
    if not member["verified"]:
        stamped["verified"] = True
    if not member["token_key"]:
        stamped["token_key"] = new_token_key()
    if not stamped and not changes:
        return member
    return await unit.update(blog_members, member["id"], changes, stamped=stamped)


def _link(rows: list[Row]) -> Link:
    if not rows:
        raise BadRequest(DEAD_LINK)
    purpose, email, member_id, account_mark, newsletter, back, chosen = rows[0]
    slugs = tuple(each for each in chosen.split(",") if each)
    return Link(
        Purpose(purpose), email, member_id or "", account_mark, bool(newsletter), back, slugs
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
