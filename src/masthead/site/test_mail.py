"""A mail to the owner who asks for it, to see whether mails arrive."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from masthead.caller import Caller
from masthead.errors import RateLimited
from masthead.limits.sliding_window import DayUsage, Limits, Usage, admit, moment_of
from masthead.limits.stores import LimitStore
from masthead.mail.account_emails import test_mail
from masthead.mail.outbox import Outbox
from masthead.records.engine import Records
from masthead.site.address import Sites

LIMITS = Limits(per_minute=3, per_hour=20)
"""Of a site."""
_SUBJECT = "test-mails"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Usage).decode


class TestMails:
    __test__ = False  # no class of tests, whatever its name

    def __init__(self, records: Records, outbox: Outbox, sites: Sites, limits: LimitStore) -> None:
        self._records = records
        self._outbox = outbox
        self._sites = sites
        self._limits = limits

    async def send(self, caller: Caller, to: str) -> str:
        """Queues it and returns its id. Raises RateLimited."""
        assert caller.tenant_id is not None
        now = moment_of(self._records.clock())

        def count(states: Sequence[bytes]) -> tuple[Sequence[bytes], int]:
            usage = _decode(states[0]) if states[0] else Usage()
            admission = admit(usage, DayUsage(), now, LIMITS)
            wait = admission.decision.retry_after
            return (states, wait) if wait else ([_encode(admission.usage)], 0)

        wait = await self._limits.update(caller.tenant_id, (_SUBJECT,), count)
        if wait:
            raise RateLimited(wait, "That is a lot of test mails. Try again in a few minutes.")
        site = await self._sites.of(caller.tenant_id)
        async with self._records.unit(caller) as unit:
            mail = test_mail(site_name=site.name, site_url=site.url, to=to)
            return await self._outbox.queue(unit, mail)
