"""Codes of six digits in emails, to type where one wants to sign in.

A code is stored as a keyed hash, so that the table reveals none. It counts only with the id that
the request for it was answered with, at the same tenant, and once.
Guesses are limited before they are compared: see `identity/limits/sign_in_throttle.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta

import msgspec

from masthead.base import clock, ids
from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import hash_token
from masthead.base.email_address import normal_email
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.identity.limits.sign_in_throttle import LoginThrottle
from masthead.identity.tables import sign_in_codes
from masthead.storage.database import EVERY_TENANT, scope_of
from masthead.storage.table_rows import TableRows

DIGITS = 6
LIFETIME = timedelta(minutes=15)
_COLUMNS = ("code_hash", "tenant_id", "email", "link_hash", "staff_id", "account_mark")


class Code(msgspec.Struct, frozen=True):
    """One that was typed right."""

    tenant_id: TenantId
    email: str
    link_hash: str
    """The hash of the link in the same email; '' for staff."""
    staff_id: str
    account_mark: str


class SignInCodes:
    def __init__(self, records: Records, keyring: KeyRing, throttle: LoginThrottle) -> None:
        self._records = records
        self._keyring = keyring
        self._throttle = throttle
        self._rows = TableRows(records.database, sign_in_codes)

    def id_for(self, collection: Collection, tenant_id: TenantId | None, email: str) -> str:
        """Known before anybody looks the address up. It is the same for all requests of an address
        within a quarter of an hour, so that the code of the last email works on the last page even
        if no further email was sent."""
        quarter = int(self._records.clock().timestamp() // LIFETIME.total_seconds())
        parts = (collection.name, tenant_id or "", normal_email(email), str(quarter))
        digest = self._keyed("\x1f".join(parts))
        return "".join(ids.ALPHABET[each % len(ids.ALPHABET)] for each in digest[: ids.LENGTH])

    async def store(
        self,
        unit: Unit,
        code_id: str,
        email: str,
        *,
        link_hash: str | None = None,
        staff: Record | None = None,
    ) -> str:
        """The code for the email."""
        code = f"{secrets.randbelow(10**DIGITS):0{DIGITS}}"
        values = {
            "tenant_id": unit.tenant_id,
            "code_id": code_id,
            "code_hash": self._hash(code_id, code),
            "email": email,
            "link_hash": link_hash,
            "staff_id": staff["id"] if staff else None,
            "account_mark": account_mark(staff) if staff else "",
            "expires": clock.to_text(self._records.clock() + LIFETIME),
        }
        await unit.execute(*self._rows.insert(values))
        return code

    async def check(
        self, collection: Collection, tenant_id: TenantId | None, code_id: str, code: str
    ) -> Code | None:
        """The code, if it is right. Raises RateLimited beyond a few guesses, whether or not there
        is such an id."""
        if not ids.is_id(code_id):
            return None
        await self._throttle.admit_code(code_id)
        found = await self._live(collection, tenant_id, code_id)
        if not found:
            return None
        email = found[0][1].email
        # Nothing tells the limit of a day from a wrong code: it is about a known address.
        is_admitted = await self._throttle.admit_codes_of(collection.name, tenant_id or "", email)
        guess = self._hash(code_id, _without_gaps(code))
        right = [each for known, each in found if hmac.compare_digest(known, guess)]
        if not right or not is_admitted:
            log.warning(
                "sign_in.failed", tenant_id=tenant_id, kind=collection.name, factor="emailed code"
            )
            return None
        await self._throttle.refund_codes_of(collection.name, tenant_id or "", email)
        return right[0]

    async def spend(self, unit: Unit, code: Code) -> bool:
        """Ends all codes of staff; False for one that was used meanwhile."""
        key = {"tenant_id": code.tenant_id, "staff_id": code.staff_id}
        return bool(await unit.execute(*self._rows.delete(key)))

    async def sweep(self) -> None:
        await self._rows.sweep("expires", self._records.clock())

    async def _live(
        self, collection: Collection, tenant_id: TenantId | None, code_id: str
    ) -> list[tuple[str, Code]]:
        is_staff = collection.platform_records
        scope = EVERY_TENANT if is_staff or tenant_id is None else scope_of(tenant_id)
        now = {"expires": clock.to_text(self._records.clock())}
        open_codes = self._rows.select(_COLUMNS, {"code_id": code_id}, later=now)
        rows = await self._records.database.fetch(scope, *open_codes)
        codes = (
            (known, Code(TenantId(tenant), email, link or "", staff or "", mark))
            for known, tenant, email, link, staff, mark in rows
        )
        # As with sessions: operators may use any host, and every account the service's own host.
        at = ("", tenant_id)
        return [
            (known, each)
            for known, each in codes
            if bool(each.staff_id) is is_staff and (tenant_id is None or each.tenant_id in at)
        ]

    def _hash(self, code_id: str, code: str) -> str:
        return self._keyed(f"{code_id}\x1f{code}").hex()

    def _keyed(self, text: str) -> bytes:
        return hmac.digest(
            self._keyring.derive("sign-in codes"), text.encode(errors="replace"), hashlib.sha256
        )


def account_mark(account: Record) -> str:
    """A new password ends the codes from before it."""
    return hash_token(account["token_key"])


def _without_gaps(code: str) -> str:
    """People type codes as they read them: in groups."""
    return "".join(code.split()).replace("-", "")[:20]
