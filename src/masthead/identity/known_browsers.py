"""Which browsers an account has signed in with: its owner is told of a new one."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit import Unit
from masthead.identity.browsers import browser_name
from masthead.identity.limits.sign_in_throttle import LoginThrottle
from masthead.identity.sign_ins import MAX_USER_AGENT, Client

KNOWN = timedelta(days=180)
NEW_BROWSER = "accounts.new_browser"
"""The job that writes the email."""


class KnownBrowsers(msgspec.Struct, frozen=True):
    throttle: LoginThrottle

    async def is_new(self, account: Record, client: Client) -> bool:
        """One that the account has not begun to use within half a year; its first is expected."""
        if not client.user_agent:
            return False
        whose = f"{account['tenant_id']}/{account['id']}"
        is_first = await self.throttle.take_once(f"any browser of {whose}", KNOWN)
        # Not within the f-string, where it would be in the language of the page.
        browser = f"browser of {whose}: " + browser_name(client.user_agent)
        is_new = await self.throttle.take_once(browser, KNOWN)
        return is_new and not is_first


async def tell_later(unit: Unit, account: Record, client: Client) -> None:
    told = {
        "account_id": account["id"],
        "tenant_id": account["tenant_id"],
        "browser": client.user_agent[:MAX_USER_AGENT],
        "address": client.address,
    }
    await unit.enqueue(NEW_BROWSER, told)
