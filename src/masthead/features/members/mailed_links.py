"""Links in emails that sign a reader in: to a new account, or to the one that the address has.

A request is the same for known and unknown addresses: it only queues a job, and the worker looks
the address up. A link works once; only its hash is stored. The code beside it (`identity/codes.py`)
does the same where the reader types it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.config.tokens import hash_token, new_token
from masthead.base.errors import BadRequest
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.content.texts.languages import root_of
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.members.collection import blog_members
from masthead.features.members.sign_up import (
    Details,
    EmailRequest,
    Link,
    Purpose,
    confirm,
    is_open,
    sign_up,
)
from masthead.features.members.tables import member_links
from masthead.features.site.address import Site, Sites
from masthead.identity.account_callers import account_key
from masthead.identity.accounts import Accounts, SignedIn
from masthead.identity.codes import SignInCodes
from masthead.identity.limits.sign_in_throttle import Attempt, LoginThrottle
from masthead.identity.sign_ins import Client
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.message import Mail
from masthead.outside.mail.outbox import Outbox
from masthead.storage.database import Bound, Row, scope_of
from masthead.storage.table_rows import TableRows

PATH = "/member/link"
JOB = "members.link"
DEAD_LINK = words("This link has been used or has expired. Request a new one.")
WRONG_CODE = "Invalid or expired OTP."

_COLUMNS = (
    *("purpose", "email", "member_id", "account_mark", "newsletter", "back"),
    *("newsletters", "details"),
)
LIFETIMES = {
    Purpose.SIGN_UP: timedelta(hours=24),
    Purpose.VERIFY: timedelta(hours=24),
    Purpose.SIGN_IN: timedelta(minutes=15),
}


class MailedLinks:
    def __init__(
        self,
        records: Records,
        accounts: Accounts,
        throttle: LoginThrottle,
        outbox: Outbox,
        *,
        sites: Sites,
        codes: SignInCodes,
        details: Details,
    ) -> None:
        self._records = records
        self._accounts = accounts
        self._throttle = throttle
        self._outbox = outbox
        self._sites = sites
        self._codes = codes
        self._details = details
        self._rows = TableRows(records.database, member_links)

    async def request(self, tenant_id: TenantId, wanted: EmailRequest, client_address: str) -> str:
        """The id that the code in the email counts with. Raises RateLimited for too many requests
        of a network or at a site; says nothing of the address."""
        if await self.admit(tenant_id, wanted.email, client_address):
            await self.queue(tenant_id, wanted)
        return self._codes.id_for(blog_members, tenant_id, wanted.email)

    async def admit(self, tenant_id: TenantId, email: str, client_address: str) -> bool:
        """Whether an email may be sent to the address. Raises RateLimited as `request` does."""
        attempt = Attempt(blog_members.name, email, client_address)
        return await self._throttle.admit_link(attempt, tenant_id)

    async def queue(self, tenant_id: TenantId, wanted: EmailRequest) -> None:
        """A request that was admitted."""
        # The platform's job: the site has not changed, so its caches stay.
        async with self._records.unit(system()) as unit:
            await self.queue_in(unit, tenant_id, wanted)

    async def queue_in(self, unit: Unit, tenant_id: TenantId, wanted: EmailRequest) -> None:
        """The same in the transaction of a change that needs it."""
        payload = {
            "tenant_id": tenant_id,
            "purpose": wanted.purpose.value,
            "email": wanted.email,
            "newsletter": wanted.newsletter,
            "back": wanted.back,
            "newsletters": list(wanted.newsletters),
            "code_id": self._codes.id_for(blog_members, tenant_id, wanted.email),
            "details": self._details.seal(tenant_id, wanted.details),
            "edition": wanted.edition,
        }
        await unit.enqueue(JOB, payload)

    def handlers(self) -> Mapping[str, Handler]:
        return {JOB: self._mail}

    async def find(self, tenant_id: TenantId, token: str) -> Link:
        """The link, which stays as it is; raises BadRequest for one that no longer works."""
        found = self._open(tenant_id, hash_token(token))
        return _link(await self._records.database.fetch(scope_of(tenant_id), *found))

    async def use(
        self, tenant_id: TenantId, token: str, client: Client, *, language: str = ""
    ) -> tuple[SignedIn, Link]:
        """Signs in, and ends every link and code of the address. A new member gets the
        language."""
        return await self._sign_in(tenant_id, hash_token(token), client, language)

    async def use_code(
        self, tenant_id: TenantId, code_id: str, code: str, client: Client, *, language: str = ""
    ) -> tuple[SignedIn, Link]:
        """The same by the code. Raises BadRequest for a wrong one, RateLimited for too many."""
        found = await self._codes.check(blog_members, tenant_id, code_id, code)
        if found is None:
            raise BadRequest(WRONG_CODE)
        try:
            return await self._sign_in(tenant_id, found.link_hash, client, language)
        except BadRequest:
            # The link beside it was used meanwhile, or the account has changed.
            raise BadRequest(WRONG_CODE) from None

    async def verify(self, tenant_id: TenantId, token: str) -> None:
        """Confirms the address, and begins no session; only by an email that was sent for it."""
        link = await self.find(tenant_id, token)
        if link.purpose is Purpose.SIGN_IN:
            raise BadRequest(DEAD_LINK)
        await self._spend_link(tenant_id, hash_token(token), "")

    async def _sign_in(
        self, tenant_id: TenantId, token_hash: str, client: Client, language: str
    ) -> tuple[SignedIn, Link]:
        member, link = await self._spend_link(tenant_id, token_hash, language)
        attempt = Attempt(blog_members.name, link.email, client.address, account_key(member))
        await self._throttle.forgive(attempt)
        return await self._accounts.begin(blog_members, member, client), link

    async def _spend_link(
        self, tenant_id: TenantId, token_hash: str, language: str
    ) -> tuple[Record, Link]:
        site = await self._sites.of(tenant_id)
        async with self._records.unit(system(tenant_id)) as unit:
            # In the transaction, so that of two clicks one finds it used.
            link = _link(await unit.fetch(*self._open(tenant_id, token_hash)))
            await unit.execute(*self._rows.delete({"tenant_id": tenant_id, "email": link.email}))
            if link.purpose is Purpose.SIGN_UP:
                details = self._details.open(tenant_id, link.details)
                page = f"{site.url}{link.back}"
                return await sign_up(unit, link, details, page=page, language=language), link
            return await _account(unit, link), link

    async def sweep(self) -> None:
        await self._rows.sweep("expires", self._records.clock())

    async def _mail(self, job: Job) -> None:
        wanted, tenant_id = job.payload, TenantId(job.payload["tenant_id"])
        purpose = Purpose(wanted["purpose"])
        site = await self._sites.of(tenant_id)
        async with self._records.unit(system(tenant_id)) as unit:
            member = await unit.find_one(blog_members, {"email": wanted["email"]})
            if not _is_due(unit, purpose, member):
                return
            # A job of the release before has no edition.
            edition = (site.edition_of(member) if member else "") or wanted.get("edition", "")
            site = site.of_edition(edition)
            if purpose is Purpose.VERIFY:
                token = await self._store(unit, wanted, purpose, member)
                link = _url(site, edition, token)
                mail = write_email("verify_email", site, wanted["email"], link=link)
            else:
                mail = await self._sign_in_mail(unit, wanted, member, site, edition=edition)
            await self._outbox.queue(unit, mail)

    async def _sign_in_mail(
        self,
        unit: Unit,
        wanted: Mapping[str, Any],
        member: Record | None,
        site: Site,
        *,
        edition: str,
    ) -> Mail:
        """With a link and a code, for the account or a new one."""
        purpose = Purpose.SIGN_IN if member else Purpose.SIGN_UP
        template = _KNOWN[Purpose(wanted["purpose"])] if member else "confirm_sign_up"
        token = await self._store(unit, wanted, purpose, member)
        # A job of the release before has no id.
        code_id = wanted.get("code_id", "")
        code = ""
        if code_id:
            code = await self._codes.store(
                unit, code_id, wanted["email"], link_hash=hash_token(token)
            )
        # Only the record store's requests have details, and all of them a password.
        details: dict[str, Any] = {} if member else {"has_password": bool(wanted.get("details"))}
        link = _url(site, edition, token)
        return write_email(template, site, wanted["email"], link=link, code=code, **details)

    async def _store(
        self,
        unit: Unit,
        wanted: Mapping[str, Any],
        purpose: Purpose,
        member: Record | None = None,
    ) -> str:
        token = new_token()
        values = {
            "tenant_id": unit.tenant_id,
            "token_hash": hash_token(token),
            "purpose": purpose.value,
            "email": wanted["email"],
            "member_id": member["id"] if member else None,
            "account_mark": hash_token(member["token_key"]) if member else "",
            "newsletter": bool(wanted["newsletter"]),
            "back": wanted["back"],
            # A job of the release before has none.
            "newsletters": ",".join(wanted.get("newsletters", ())),
            "details": wanted.get("details", ""),
            "expires": clock.to_text(self._records.clock() + LIFETIMES[purpose]),
        }
        await unit.execute(*self._rows.insert(values))
        return token

    def _open(self, tenant_id: TenantId, token_hash: str) -> Bound:
        key = {"tenant_id": tenant_id, "token_hash": token_hash}
        now = clock.to_text(self._records.clock())
        return self._rows.select(_COLUMNS, key, later={"expires": now})


_KNOWN = {Purpose.SIGN_UP: "already_member", Purpose.SIGN_IN: "sign_in"}


def _is_due(unit: Unit, purpose: Purpose, member: Record | None) -> bool:
    """An email is sent: to members, and to others who may join."""
    if purpose is Purpose.VERIFY:
        return member is not None and not member["verified"]
    return member is not None or (purpose is Purpose.SIGN_UP and is_open(unit))


async def _account(unit: Unit, link: Link) -> Record:
    found = await unit.find_one(blog_members, {"id": link.member_id})
    if not found or hash_token(found["token_key"]) != link.account_mark:
        raise BadRequest(DEAD_LINK)
    return await confirm(unit, found, {})


def _link(rows: list[Row]) -> Link:
    if not rows:
        raise BadRequest(DEAD_LINK)
    purpose, email, member_id, account_mark, newsletter, back, chosen, details = rows[0]
    slugs = tuple(each for each in chosen.split(",") if each)
    return Link(
        Purpose(purpose),
        email,
        member_id or "",
        account_mark,
        bool(newsletter),
        back,
        slugs,
        details,
    )


def _url(site: Site, edition: str, token: str) -> str:
    """The page is in the language of the email."""
    return f"{site.url}{root_of(edition)}{PATH}?token={token}"
