"""A test email to the owner who asks for it, to see whether emails arrive."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any

import msgspec

from masthead.base import ids
from masthead.base.caller import Caller
from masthead.base.config.keyring import KeyRing
from masthead.base.config.tokens import is_signed, sign
from masthead.base.languages.words import staff_words
from masthead.engine.records.engine import Records
from masthead.features.site.address import Sites
from masthead.identity.limits.sliding_window import Limits
from masthead.identity.limits.windows import Allowance, Windows
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox

TEST_MAILS = Allowance(
    "test-mails",
    Limits(per_minute=3, per_hour=20),
    staff_words("Too many test emails at once. Try again in a few minutes."),
)
"""Limits of one site."""
KNOWN_FOR = timedelta(days=1)
"""How long the outcome of a test email can be shown. Failed emails are stored for longer, so a
missing one was sent."""
_PURPOSE, _LENGTH = "test-mails", 32
_SEPARATOR = "-"


class TrialState(StrEnum):
    WAITING = "waiting"
    FAILED = "failed"
    """The mail server has refused it temporarily; it is tried again."""
    GAVE_UP = "gave up"
    SENT = "sent"


class Outcome(msgspec.Struct, frozen=True):
    state: TrialState
    why: str = ""


class TestMails(msgspec.Struct, frozen=True):
    __test__ = False  # no class of tests, whatever its name

    records: Records
    outbox: Outbox
    sites: Sites
    windows: Windows
    keyring: KeyRing

    async def send(self, caller: Caller, to: Mapping[str, Any]) -> str:
        """Queues it and returns the mark by which its outcome is asked for. Raises RateLimited."""
        assert caller.tenant_id is not None
        await self.windows.take(caller.tenant_id, TEST_MAILS)
        site = (await self.sites.of(caller.tenant_id)).for_staff(to)
        async with self.records.unit(caller) as unit:
            mail_id = await self.outbox.queue(unit, write_email("test_mail", site, to["email"]))
        # A sent email leaves no row, so an unsigned id of an email that never existed would look
        # sent.
        seconds = self._seconds()
        mark = sign(self.keyring, _PURPOSE, _signed(caller, mail_id, seconds), length=_LENGTH)
        return _SEPARATOR.join((mail_id, seconds, mark))

    async def outcome(self, caller: Caller, mark: str) -> Outcome | None:
        """None for a mark that is a day old, or that the caller was not given."""
        assert caller.tenant_id is not None
        mail_id = self._mail_of(caller, mark)
        if mail_id is None:
            return None
        queued = await self.outbox.state(caller.tenant_id, mail_id)
        if queued is None:
            return Outcome(TrialState.SENT)
        if not queued.at:
            return Outcome(TrialState.WAITING)
        return Outcome(TrialState.GAVE_UP if queued.gave_up else TrialState.FAILED, queued.why)

    def _mail_of(self, caller: Caller, mark: str) -> str | None:
        mail_id, _, rest = mark.partition(_SEPARATOR)
        digits, _, signature = rest.partition(_SEPARATOR)
        if not ids.is_id(mail_id) or not (digits.isascii() and digits.isdigit()):
            return None
        signed = _signed(caller, mail_id, digits)
        if not is_signed(self.keyring, _PURPOSE, signed, signature, length=_LENGTH):
            return None
        is_recent = int(self._seconds()) - int(digits) < KNOWN_FOR.total_seconds()
        return mail_id if is_recent else None

    def _seconds(self) -> str:
        return str(int(self.records.clock().timestamp()))


def _signed(caller: Caller, mail_id: str, seconds: str) -> str:
    return f"{caller.tenant_id} {caller.id} {mail_id} {seconds}"
