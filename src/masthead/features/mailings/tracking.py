"""Opens and clicks of a mailing, where its newsletter counts them.

A link in such an email leads to the site first, with its target, and both are signed: nobody can
make a redirect of it that we did not write. Its reader is signed too, so that a count is of people
who got the email. Each counts once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from html import escape, unescape
from typing import Final
from urllib.parse import urlencode

import msgspec
import sqlalchemy as sa

from masthead.base import clock
from masthead.base.config.keyring import KeyRing
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.mailings.collection import mailings
from masthead.features.mailings.letter import READER
from masthead.features.mailings.tables import mailing_recipients
from masthead.storage.database import scope_of

OPEN_PATH: Final = "/mail/open"
CLICK_PATH: Final = "/mail/click"

_LINK: Final = re.compile(r'(<a\b[^>]*?\bhref=")(https?://[^"]+)(")')
_SIGNATURE_BYTES: Final = 16


class Tracked(msgspec.Struct, frozen=True):
    """The values that the letters of one mailing need in order to be counted."""

    mailing_id: str
    site_url: str
    key: bytes
    opens: bool
    clicks: bool

    @property
    def notice(self) -> str:
        """The sentence in the footer that tells readers."""
        if self.opens and self.clicks:
            return words(
                "This email records whether it is opened and which readers follow its links."
            )
        if self.opens:
            return words("This email records whether it is opened.")
        return words("This email records which readers follow its links.")

    def apply(self, html: str) -> str:
        if self.clicks:
            html = _LINK.sub(self._counted_link, html)
        return html.replace("</body>", f"{self._pixel}</body>") if self.opens else html

    def reader(self, member_id: str) -> str:
        return f"{member_id}.{signature(self.key, self.mailing_id, member_id)}"

    def _counted_link(self, match: re.Match[str]) -> str:
        target = unescape(match[2])
        # The pages of an account need no detour, and are nobody's to count.
        if target.startswith(f"{self.site_url}/member/"):
            return match[0]
        query = {"m": self.mailing_id, "to": target, "s": signature(self.key, "to", target)}
        address = f"{self.site_url}{CLICK_PATH}?{urlencode(query)}&r={READER}"
        return f"{match[1]}{escape(address)}{match[3]}"

    @property
    def _pixel(self) -> str:
        address = escape(f"{self.site_url}{OPEN_PATH}?m={self.mailing_id}&r={READER}")
        return f'<img src="{address}" width="1" height="1" alt="">'


def signature(key: bytes, *parts: str) -> str:
    mac = hmac.new(key, "\n".join(parts).encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(mac[:_SIGNATURE_BYTES]).decode().rstrip("=")


class Tracking:
    def __init__(self, records: Records, tables: Mapping[str, sa.Table], keyring: KeyRing) -> None:
        self._records = records
        self._keyring = keyring
        database = self._database = records.database
        r, m = mailing_recipients.c, tables[mailings.name].c
        of_reader = (
            r.tenant_id == sa.bindparam("tenant"),
            r.mailing_id == sa.bindparam("mailing"),
            r.member_id == sa.bindparam("member"),
        )
        self._mark = {
            name: database.compile(
                sa.update(mailing_recipients)
                .where(*of_reader, r[column] == "")
                .values({column: sa.bindparam("now")})
                .returning(r.member_id)
            )
            for name, column in (("opens", "opened_at"), ("clicks", "clicked_at"))
        }
        here = (m.tenant_id == sa.bindparam("tenant"), m.id == sa.bindparam("mailing"))
        self._count = {
            name: database.compile(
                sa.update(tables[mailings.name])
                .where(*here, m[name].is_not(None))
                .values({name: m[name] + 1})
            )
            for name in ("opens", "clicks")
        }

    def of(self, mailing: Record, site_url: str) -> Tracked | None:
        """None for a mailing that counts neither."""
        opens, clicks = (mailing[name] is not None for name in ("opens", "clicks"))
        if not opens and not clicks:
            return None
        key = self._keyring.derive(_purpose(mailing["tenant_id"]))
        return Tracked(mailing["id"], site_url, key, opens, clicks)

    def is_ours(self, tenant_id: TenantId, target: str, given: str) -> bool:
        """Whether a link of one of the site's emails led here. In constant time."""
        return self._is_signed(tenant_id, given, "to", target)

    async def count(self, tenant_id: TenantId, name: str, mailing_id: str, reader: str) -> None:
        """Once for each reader. Whoever follows a link has opened the email."""
        member_id, _, given = reader.partition(".")
        if not self._is_signed(tenant_id, given, mailing_id, member_id):
            return
        now = clock.to_text(self._records.clock())
        values = {"tenant": tenant_id, "mailing": mailing_id, "member": member_id, "now": now}
        async with self._database.transaction(scope_of(tenant_id)) as transaction:
            for each in ("opens", "clicks") if name == "clicks" else ("opens",):
                mark, add = self._mark[each], self._count[each]
                if await transaction.fetch(*mark(values)):
                    await transaction.execute(*add(values))

    def _is_signed(self, tenant_id: TenantId, given: str, *parts: str) -> bool:
        """With every root secret: old emails outlive a rotation."""
        keys = self._keyring.derive_all(_purpose(tenant_id))
        sent = given.encode(errors="replace")
        matches = [hmac.compare_digest(signature(key, *parts).encode(), sent) for key in keys]
        return any(matches)


def _purpose(tenant_id: str) -> str:
    return f"mailing-links:{tenant_id}"
